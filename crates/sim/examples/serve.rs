//! Serve a simulated web until the standard input ends:
//! `cargo run --release -p rhumb-sim --example serve -- 1000 1000000 1 8080`
//! (hosts, pages, seed, port).

use std::io::Read;

use rhumb_sim::{Sim, SimConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let number = |at: usize, default: u64| numbers.get(at).copied().unwrap_or(default);
    let sim = Sim::start(SimConfig {
        hosts: u32::try_from(number(0, 100))?,
        pages: number(1, 10_000),
        seed: number(2, 1),
        port: u16::try_from(number(3, 8080))?,
        dns_port: Some(0),
        ..SimConfig::default()
    })?;
    println!("{}", sim.seed_url());
    if let Some(dns) = sim.dns_addr() {
        println!("names: udp {dns}");
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    sim.stop()?;
    Ok(())
}
