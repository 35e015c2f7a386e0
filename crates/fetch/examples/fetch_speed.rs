//! Requests for each second of CPU, to hold against other clients by hand:
//!
//! ```text
//! cargo run --release -p rhumb-fetch --example fetch_speed -- http://127.0.0.1:8080/ 100000 16
//! ```
//!
//! The arguments are a URL, how many times it is fetched in all, and over how
//! many connections at a time.

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::time::Instant;

use rhumb_fetch::{Connection, DnsConfig, Failure, FetchConfig, Fetcher, Resolver};
use rhumb_url::Url;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments
        .next()
        .ok_or("usage: speed URL REQUESTS CONNECTIONS")?;
    let url = Url::parse(&url)?;
    let requests = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let connections = arguments.next().map_or(Ok(16), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(Default::default())?;
    runtime.block_on(measure(url, requests, connections))
}

async fn measure(url: Url, requests: u64, connections: u64) -> Result<(), Box<dyn Error>> {
    let fetcher = Rc::new(Fetcher::new(FetchConfig::default())?);
    let addresses = Resolver::new(&DnsConfig::default())?
        .resolve(url.name())
        .await?;
    let left = Rc::new(Cell::new(requests));
    let bytes = Rc::new(Cell::new(0));
    let started = Instant::now();
    let cpu_before = cpu_seconds();
    let workers: Vec<_> = (0..connections)
        .map(|_| {
            let (fetcher, addresses) = (fetcher.clone(), addresses.clone());
            let (left, bytes, url) = (left.clone(), bytes.clone(), url.clone());
            tokio::task::spawn_local(async move {
                let mut open: Option<Connection> = None;
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    let mut connection = match open.take() {
                        Some(connection) => connection,
                        None => fetcher.connect(&url, &addresses).await?,
                    };
                    let document = connection.get(&url, None).await?;
                    bytes.set(bytes.get() + document.body.len());
                    open = Some(connection).filter(Connection::reusable);
                }
                Ok::<(), Failure>(())
            })
        })
        .collect();
    for worker in workers {
        worker.await??;
    }
    let wall = started.elapsed().as_secs_f64();
    match cpu_before.zip(cpu_seconds()) {
        Some((before, after)) => println!(
            "{requests} requests, {:.0} a CPU-second, {:.0} a second, {} bytes of bodies",
            requests as f64 / (after - before),
            requests as f64 / wall,
            bytes.get()
        ),
        None => println!("{:.0} requests a second", requests as f64 / wall),
    }
    Ok(())
}

/// What this process has used so far, user and system, where Linux tells it
/// (in hundredths of a second).
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}
