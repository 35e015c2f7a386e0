//! The server as clients see it, over real sockets on loopback addresses.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use rhumb_sim::{Log, LoggedRequest, Sim, SimConfig};

fn start(hosts: u32, pages: u64) -> Sim {
    Sim::start(SimConfig {
        hosts,
        pages,
        seed: 9,
        dns_port: Some(0),
        log: Log::memory(),
        ..SimConfig::default()
    })
    .unwrap()
}

/// One connection to the address of a host.
struct Client {
    stream: TcpStream,
    host: String,
    buffer: Vec<u8>,
}

struct Reply {
    head: String,
    body: Vec<u8>,
}

impl Reply {
    fn has(&self, header: &str) -> bool {
        self.head.lines().any(|line| line == header)
    }
}

impl Client {
    fn connect(sim: &Sim, host: &str) -> Client {
        let address = sim.web().address(host).unwrap();
        let stream = TcpStream::connect((address, sim.port())).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        Client {
            stream,
            host: host.to_owned(),
            buffer: Vec::new(),
        }
    }

    fn send(&mut self, method: &str, target: &str, headers: &str) {
        let host = &self.host;
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
        self.stream.write_all(request.as_bytes()).unwrap();
    }

    fn get(&mut self, target: &str, headers: &str) -> Reply {
        self.send("GET", target, headers);
        self.receive()
    }

    fn receive(&mut self) -> Reply {
        let head = self.until(b"\r\n\r\n");
        let head = String::from_utf8(head).unwrap();
        let mut body = Vec::new();
        if head.contains("Transfer-Encoding: chunked") {
            loop {
                let size = String::from_utf8(self.until(b"\r\n")).unwrap();
                let size = usize::from_str_radix(size.trim(), 16).unwrap();
                let chunk = self.take(size + 2);
                body.extend_from_slice(&chunk[..size]);
                if size == 0 {
                    break;
                }
            }
        } else {
            let length = head.split("Content-Length: ").nth(1).unwrap();
            let length = length.split("\r\n").next().unwrap().parse().unwrap();
            body = self.take(length);
        }
        Reply { head, body }
    }

    fn until(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|w| w == mark) {
                return self.take(at + mark.len());
            }
            self.more();
        }
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            self.more();
        }
        let rest = self.buffer.split_off(length);
        std::mem::replace(&mut self.buffer, rest)
    }

    fn more(&mut self) {
        let mut part = [0; 16 * 1024];
        let length = self.stream.read(&mut part).unwrap();
        assert!(length > 0, "the server closed the connection");
        self.buffer.extend_from_slice(&part[..length]);
    }
}

#[test]
fn every_host_serves_the_model_at_its_own_address() {
    let sim = start(150, 2_000);
    let (mut chunked, mut gzipped, mut closed, mut kept) = (0, 0, 0, 0);
    for rank in 0..150 {
        let host = sim.web().host_name(rank);
        let mut client = Client::connect(&sim, &host);
        let plain = client.get("/", "");
        let model = sim.web().response(&host, "/", false);
        assert_eq!(plain.body, model.body);
        chunked += usize::from(plain.has("Transfer-Encoding: chunked"));
        if plain.has("Connection: close") {
            closed += 1;
            assert_eq!(client.stream.read(&mut [0]).unwrap(), 0);
            continue;
        }
        kept += 1;
        let packed = client.get("/", "Accept-Encoding: br, gzip;q=0.5\r\n");
        if packed.has("Content-Encoding: gzip") {
            gzipped += 1;
            let mut body = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(&packed.body[..]);
            decoder.read_to_end(&mut body).unwrap();
            assert_eq!(body, model.body);
            assert!(packed.body.len() < body.len());
        } else {
            assert_eq!(packed.body, model.body);
        }
        let refused = client.get("/", "Accept-Encoding: gzip;q=0\r\n");
        assert!(!refused.has("Content-Encoding: gzip"));
    }
    for (what, count) in [("chunked", chunked), ("gzip", gzipped), ("close", closed)] {
        assert!((2..50).contains(&count), "{what}: {count}");
    }
    assert!(kept > 100);
}

#[test]
fn requests_one_after_the_other_without_waiting_are_answered_in_order() {
    let sim = start(5, 200);
    let host = sim.web().host_name(0);
    let mut client = Client::connect(&sim, &host);
    for target in ["/", "/robots.txt", "/missing/0", "/go/0"] {
        client.send("GET", target, "");
    }
    for (target, status) in [("/", 200), ("/robots.txt", 200), ("/missing/0", 404)] {
        let reply = client.receive();
        assert!(reply.head.starts_with(&format!("HTTP/1.1 {status} ")));
        assert_eq!(reply.body, sim.web().response(&host, target, false).body);
    }
    let redirect = client.receive();
    assert!(redirect.head.starts_with("HTTP/1.1 30"));
    assert!(redirect.head.contains("\r\nLocation: "));
}

#[test]
fn other_methods_and_nonsense_are_refused() {
    let sim = start(5, 200);
    let host = sim.web().host_name(0);
    let mut client = Client::connect(&sim, &host);
    client.send("HEAD", "/", "");
    let head = String::from_utf8(client.until(b"\r\n\r\n")).unwrap();
    let length = sim.web().response(&host, "/", false).body.len();
    assert!(head.contains(&format!("Content-Length: {length}\r\n")));
    let post = {
        client.send("POST", "/", "");
        client.receive()
    };
    assert!(post.head.starts_with("HTTP/1.1 405 "));
    for nonsense in [
        &b"\x16\x03\x01 not http\r\n\r\n"[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[b'a'; 20_000],
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", sim.port())).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        // The server may hang up before it has read all of it.
        let _ = stream.write_all(nonsense);
        let mut reply = [0; 12];
        if stream.read_exact(&mut reply).is_ok() {
            assert_eq!(&reply, b"HTTP/1.1 400");
        }
    }
    assert_eq!(client.get("/", "").head.split(' ').nth(1), Some("200"));
}

#[test]
fn every_answered_request_is_in_the_log() {
    let sim = start(30, 400);
    let host = sim.web().host_name(3);
    for turn in 0..50 {
        let mut client = Client::connect(&sim, &host.to_uppercase());
        client.get("/", "User-Agent: test \"agent\"\r\n");
        let log = sim.requests();
        assert_eq!(log.len(), turn + 1);
        let last = &log[turn];
        assert_eq!(
            (last.host.as_str(), last.path.as_str()),
            (host.as_str(), "/")
        );
        assert_eq!(last.agent, "test \"agent\"");
        assert_eq!(Some(last.address), sim.web().address(&host));
        assert_eq!(last.status, 200);
        assert!(last.time <= last.end);
    }
    sim.stop().unwrap();
}

#[test]
fn a_log_file_is_whole_when_the_server_has_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.jsonl");
    let sim = Sim::start(SimConfig {
        log: Log::File(path.clone()),
        latency: Duration::from_millis(2),
        ..SimConfig::default()
    })
    .unwrap();
    let host = sim.web().host_name(0);
    let mut client = Client::connect(&sim, &host);
    for _ in 0..20 {
        client.get("/robots.txt", "");
    }
    sim.stop().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let requests: Vec<LoggedRequest> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(requests.len(), 20);
    assert!(requests.windows(2).all(|pair| pair[0].end <= pair[1].time));
    assert!(
        requests
            .iter()
            .all(|request| request.end - request.time >= 0.001)
    );
}

#[test]
fn names_are_answered_over_udp() {
    let sim = start(30, 400);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let ask = |name: &str| {
        let mut packet = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            packet.push(label.len() as u8);
            packet.extend_from_slice(label.as_bytes());
        }
        packet.extend_from_slice(&[0, 0, 1, 0, 1]);
        socket.send_to(&packet, sim.dns_addr().unwrap()).unwrap();
        let mut reply = [0; 512];
        let (length, _) = socket.recv_from(&mut reply).unwrap();
        reply[..length].to_vec()
    };
    for rank in 0..30 {
        let name = sim.web().host_name(rank);
        let reply = ask(&name);
        let address = sim.web().address(&name).unwrap();
        assert_eq!(reply[reply.len() - 4..], address.octets());
    }
    assert_eq!(ask("nobody.test")[3] & 15, 3);
}

#[test]
fn a_port_that_is_taken_is_an_error_that_names_it() {
    let sim = start(1, 1);
    let again = Sim::start(SimConfig {
        port: sim.port(),
        ..SimConfig::default()
    });
    let error = again.err().unwrap().to_string();
    assert!(error.contains(&sim.port().to_string()), "{error}");
}
