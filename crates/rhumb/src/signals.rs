//! Ctrl-C and termination: the first stops cleanly, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// Which signal came first, as an exit code; 0 if none did.
#[derive(Clone, Default)]
pub struct Received(Arc<AtomicU8>);

impl Received {
    pub fn exit_code(&self) -> Option<u8> {
        Some(self.0.load(Ordering::SeqCst)).filter(|code| *code > 0)
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
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
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
