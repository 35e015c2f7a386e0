//! What it costs to check archive records by content: after a crash, and when
//! a crawl directory is verified.
//!
//! `cargo run --release -p rhumb-store --example verify_speed -- [PAGES] [FOLDER]`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhumb_store::{
    Archive, ArchiveFormat, Capture, Disk, Journal, Outcome, RealDisk, Record, SystemClock,
    Timestamp, Visit, payload_digest, verify_journal,
};

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let pages: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000);
    let root = arguments.next().map_or_else(
        || std::env::temp_dir().join("rhumb-verify-speed"),
        PathBuf::from,
    );
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    for format in [ArchiveFormat::Gzip, ArchiveFormat::Zstd] {
        let [journal, warc] = ["journal", "warc"].map(|f| root.join(format.as_str()).join(f));
        disk.create_folder(&journal)?;
        disk.create_folder(&warc)?;
        let mut writer = Journal::begin(Arc::clone(&disk), &journal, 0, 1, 256 << 20)?;
        let clock = Arc::new(SystemClock::default());
        let archive = Archive::begin(
            Arc::clone(&disk),
            clock,
            &warc,
            format,
            0,
            1,
            1,
            1 << 30,
            String::new(),
        )?;
        let mut archive = archive.ok_or("nothing is archived")?;
        let mut bytes = 0;
        for n in 0..pages {
            bytes += write(n, &mut writer, &mut archive)?;
            if n % 16 == 15 || n + 1 == pages {
                archive.flush()?;
                writer.commit()?;
            }
        }
        archive.sync()?;
        writer.sync()?;
        let recovery = Instant::now();
        Journal::recover(&disk, &journal, &warc)?;
        tell(format, "recovery", recovery.elapsed(), pages, bytes);
        let verifying = Instant::now();
        let mut findings = 0;
        verify_journal(
            &disk,
            &journal,
            &warc,
            &[],
            &mut |_| findings += 1,
            &mut |_| {},
        )?;
        tell(format, "verify", verifying.elapsed(), pages, bytes);
        assert_eq!(findings, 0);
    }
    Ok(())
}

fn tell(format: ArchiveFormat, what: &str, time: Duration, pages: u64, bytes: u64) {
    let seconds = time.as_secs_f64();
    println!(
        "{:<5} {what:<9} {:>6.1} µs a page, {:>5.0} MB/s of content",
        format.as_str(),
        seconds * 1e6 / pages as f64,
        bytes as f64 / seconds / 1e6
    );
}

/// A page of about 20 KB that compresses as pages do.
fn write(
    n: u64,
    journal: &mut Journal,
    archive: &mut Archive,
) -> Result<u64, Box<dyn std::error::Error>> {
    let mut body = String::with_capacity(20 << 10);
    let mut random = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    while body.len() < 20 << 10 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        body.push_str(&format!(
            "<p class=\"item\"><a href=\"/a/{random:x}\">text</a></p>\n"
        ));
    }
    let digest = payload_digest(body.as_bytes());
    let mut visit = Visit::new(
        &format!("http://host.test/{n}"),
        1,
        Outcome::Fetched,
        Timestamp(n),
    );
    visit.payload_digest = Some(digest);
    visit.extents = archive.add(&Capture {
        url: visit.url.clone(),
        time: visit.time,
        address: "127.0.0.1".to_owned(),
        request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        wire: format!("{HEAD}{body}").into_bytes(),
        head_length: HEAD.len(),
        payload_digest: digest,
        framed: false,
        truncated: "",
        revisit: None,
        via: String::new(),
        depth: 1,
        fetch_micros: 1,
    })?;
    journal.push(&Record::Visit(Box::new(visit)));
    Ok(body.len() as u64)
}
