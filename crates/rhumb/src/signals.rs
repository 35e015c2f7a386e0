//! Ctrl-C, termination and a closed terminal: the first signal stops cleanly,
//! the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Which signal came first, as an exit code; 0 if none did.
#[derive(Clone, Default)]
pub struct Received(Arc<AtomicU8>);

impl Received {
    pub fn exit_code(&self) -> Option<u8> {
        Some(self.0.load(Ordering::SeqCst)).filter(|code| *code > 0)
    }
}

/// Whoever starts a program with `nohup` wants it to outlive the terminal.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// The next of these signals; never, where they are ignored.
async fn next(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => {
            signals.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Call `first` at the first signal and `second` at the next, each with the
/// signal's exit code, from a thread of its own.
pub fn on_signals(
    first: impl Fn(u8) + Send + 'static,
    second: impl Fn(u8) + Send + 'static,
) -> std::io::Result<Received> {
    let received = Received::default();
    let noted = received.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut interrupt, mut terminate, mut hang_up) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            match is_hang_up_ignored() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            },
        )
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                loop {
                    let code = tokio::select! {
                        _ = interrupt.recv() => 130,
                        _ = terminate.recv() => 143,
                        () = next(&mut hang_up) => 129,
                    };
                    let was = noted
                        .0
                        .compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
                    match was {
                        Ok(_) => first(code),
                        Err(_) => second(code),
                    }
                }
            });
        })?;
    Ok(received)
}
