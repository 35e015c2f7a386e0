//! The server: one thread with a single-threaded runtime that accepts
//! connections, answers DNS and keeps the log flushed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, UdpSocket};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Notify, Semaphore};

use crate::config::{SimConfig, SimError, WebConfig};
use crate::connection::{Shared, serve};
use crate::dns;
use crate::log::{FLUSH_EVERY, LoggedRequest, RequestLog};
use crate::web::Web;

const BACKLOG: u32 = 4_096;
/// How long accepting pauses when the system has no more sockets to give.
const BREATH: Duration = Duration::from_millis(50);
/// Longer than any question by UDP.
const MAX_PACKET: usize = 1_500;

/// A running simulated web. Dropping it stops it.
pub struct Sim {
    shared: Arc<Shared>,
    port: u16,
    dns: Option<SocketAddr>,
    stop: StopHandle,
    runtime: Handle,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// Ends a [`Sim`] from anywhere, for instance from a signal handler's thread.
#[derive(Clone)]
pub struct StopHandle(Arc<Notify>);

impl StopHandle {
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Sim {
    /// Listen and serve from a thread of its own; ready when it returns.
    pub fn start(config: SimConfig) -> Result<Sim, SimError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SimError::Start)?;
        let (listener, dns) = {
            let _inside = runtime.enter();
            // Every host has an address of its own in 127.0.0.0/8, so the
            // server binds to all of them: of the loopback interface where the
            // system lets us say so. Strangers are turned away all the same.
            let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, config.port));
            let listener = listen(everywhere).map_err(|source| SimError::Listen {
                what: "HTTP",
                address: everywhere,
                source,
            })?;
            let dns = config.dns_port.map(bind_dns).transpose()?;
            (listener, dns)
        };
        let port = listener.local_addr().map_err(SimError::Start)?.port();
        let dns_address = dns
            .as_ref()
            .map(UdpSocket::local_addr)
            .transpose()
            .map_err(SimError::Start)?;
        let shared = Arc::new(Shared {
            web: Web::new(&WebConfig {
                hosts: config.hosts,
                pages: config.pages,
                seed: config.seed,
                port,
            })?,
            log: RequestLog::open(&config.log)?,
            latency: config.latency,
        });
        let stop = StopHandle(Arc::new(Notify::new()));
        let handle = runtime.handle().clone();
        let thread = std::thread::Builder::new().name("sim".to_owned()).spawn({
            let (shared, stop) = (shared.clone(), stop.clone());
            let max_connections = config.max_connections.max(1);
            move || run(runtime, listener, dns, max_connections, shared, stop)
        });
        Ok(Sim {
            shared,
            port,
            dns: dns_address,
            stop,
            runtime: handle,
            thread: Some(thread.map_err(SimError::Start)?),
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn dns_addr(&self) -> Option<SocketAddr> {
        self.dns
    }

    pub fn seed_url(&self) -> String {
        self.shared.web.seed_url()
    }

    pub fn web(&self) -> &Web {
        &self.shared.web
    }

    /// The requests so far, if the log is kept in memory. A request whose
    /// response has arrived at its client is always among them.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        // The server's thread does one thing at a time: once it has come to
        // this, what it was doing is logged. A stopped server does nothing,
        // drops the message and so ends the wait too.
        let (done, wait) = mpsc::channel();
        self.runtime.spawn(async move {
            // Nobody waits if the other side is gone.
            let _ = done.send(());
        });
        let _ = wait.recv();
        self.shared.log.requests()
    }

    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Stop, and say whether the log could be written.
    pub fn stop(self) -> Result<(), SimError> {
        self.stop.stop();
        self.wait()
    }

    /// Serve until somebody uses the stop handle.
    pub fn wait(mut self) -> Result<(), SimError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result.map_err(SimError::LogLost),
            Some(Err(_)) => Err(SimError::Crashed),
            None => Ok(()),
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stop.stop();
            // Who drops the server does not ask how it ended.
            let _ = thread.join();
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    // Older systems let nobody but the administrator do this.
    #[cfg(target_os = "linux")]
    let _ = socket.bind_device(Some(b"lo"));
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn bind_dns(port: u16) -> Result<UdpSocket, SimError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bind = || {
        let socket = std::net::UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        UdpSocket::from_std(socket)
    };
    bind().map_err(|source| SimError::Listen {
        what: "DNS",
        address,
        source,
    })
}

fn run(
    runtime: Runtime,
    listener: TcpListener,
    dns: Option<UdpSocket>,
    max_connections: usize,
    shared: Arc<Shared>,
    stop: StopHandle,
) -> io::Result<()> {
    let result = runtime.block_on(async {
        tokio::select! {
            () = stop.0.notified() => Ok(()),
            never = accept(listener, max_connections, &shared) => match never {},
            never = answer_dns(dns, &shared.web) => match never {},
            error = flush(&shared.log) => Err(error),
        }
    });
    // Ends all connections.
    drop(runtime);
    result.and(shared.log.flush())
}

enum Never {}

async fn accept(listener: TcpListener, max_connections: usize, shared: &Arc<Shared>) -> Never {
    let places = Arc::new(Semaphore::new(max_connections));
    loop {
        // Never closed, so there is always a place in the end.
        let place = places.clone().acquire_owned().await;
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let Ok(IpAddr::V4(address)) = stream.local_addr().map(|local| local.ip()) else {
            continue;
        };
        if !peer.ip().is_loopback() || !address.is_loopback() {
            continue;
        }
        // Only a matter of speed: small responses leave at once.
        let _ = stream.set_nodelay(true);
        let shared = shared.clone();
        tokio::spawn(async move {
            serve(stream, address, shared).await;
            drop(place);
        });
    }
}

async fn answer_dns(socket: Option<UdpSocket>, web: &Web) -> Never {
    let Some(socket) = socket else {
        return std::future::pending().await;
    };
    let (mut packet, mut out) = ([0; MAX_PACKET], Vec::new());
    loop {
        // Errors here are about one packet; the next is another matter.
        let Ok((length, peer)) = socket.recv_from(&mut packet).await else {
            tokio::task::yield_now().await;
            continue;
        };
        if dns::reply(web, &packet[..length], &mut out) {
            let _ = socket.send_to(&out, peer).await;
        }
    }
}

/// Comes back only when the log cannot be written.
async fn flush(log: &RequestLog) -> io::Error {
    let mut ticks = tokio::time::interval(FLUSH_EVERY);
    loop {
        ticks.tick().await;
        if let Err(error) = log.flush() {
            return error;
        }
    }
}
