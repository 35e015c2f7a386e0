//! A name server that gives one address for every name.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const LOOK_UP: Duration = Duration::from_millis(20);

/// Answers until it is dropped.
pub struct NameServer {
    pub address: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    pub fn start(answer: Ipv4Addr) -> NameServer {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.set_read_timeout(Some(LOOK_UP)).expect("a time-out");
        let address = socket.local_addr().expect("an address");
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut question = [0; 1500];
            while !until.load(Ordering::SeqCst) {
                let Ok((length, from)) = socket.recv_from(&mut question) else {
                    continue;
                };
                if let Some(reply) = reply(&question[..length], answer) {
                    let _ = socket.send_to(&reply, from);
                }
            }
        });
        NameServer {
            address,
            ends,
            thread: Some(thread),
        }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The question again, with the address as its answer where one is asked for.
fn reply(question: &[u8], answer: Ipv4Addr) -> Option<Vec<u8>> {
    const HEADER: usize = 12;
    let name = question.get(HEADER..)?.iter().position(|byte| *byte == 0)?;
    let end = HEADER + name + 1 + 4;
    let kind = question.get(end - 4..end - 2)?;
    let found = u8::from(kind == [0, 1]);
    let mut reply = question.get(..2)?.to_vec();
    // A response without error, one question, perhaps one answer.
    reply.extend([0x85, 0x80, 0, 1, 0, found, 0, 0, 0, 0]);
    reply.extend(question.get(HEADER..end)?);
    if found == 1 {
        // The name of the question, type A, class IN, for a minute.
        reply.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        reply.extend(answer.octets());
    }
    Some(reply)
}
