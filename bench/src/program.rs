//! Where the programs are that are measured.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::BenchError;

const BUILD: &str = "cargo build --release -p rhumb";

/// The `rhumb` beside this program, as fresh as its source: `cargo run -p
/// bench` does not build it, so it is built here.
pub fn rhumb() -> Result<PathBuf, BenchError> {
    if cfg!(debug_assertions) {
        return Err(BenchError::Other(
            "only release builds are worth measuring: cargo run --release -p bench".into(),
        ));
    }
    // Set by `cargo run`; whoever starts the program by hand builds by hand.
    if let Some(cargo) = std::env::var_os("CARGO") {
        let built = Command::new(cargo)
            .args(BUILD.split(' ').skip(1))
            .arg("--quiet")
            .status()
            .map_err(BenchError::io(BUILD))?;
        if !built.success() {
            return Err(BenchError::Other(format!("`{BUILD}` failed")));
        }
    }
    let own = std::env::current_exe().map_err(BenchError::io("this program's own path"))?;
    let path = own.with_file_name("rhumb");
    if path.is_file() {
        Ok(path)
    } else {
        Err(BenchError::Other(format!(
            "{} is missing; run: {BUILD}",
            path.display()
        )))
    }
}

/// Whether a command can be started and ends well.
pub fn works(command: &[&str]) -> bool {
    output(command).is_some()
}

/// What a command prints, if it ends well.
pub fn output(command: &[&str]) -> Option<String> {
    let (name, arguments) = command.split_first()?;
    let output = Command::new(name)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}
