//! Python with the packages warcio, fastwarc and zstandard, if the
//! environment variable `VALIDATORS_PYTHON` names one.

use std::path::Path;

use super::program::{Done, Running, command};

/// Run a script of this folder; `None`, told plainly, without a Python.
pub fn run_script(name: &str, args: &[&Path]) -> Option<Done> {
    let Some(python) = std::env::var_os("VALIDATORS_PYTHON") else {
        eprintln!("left out: VALIDATORS_PYTHON names no Python with warcio and fastwarc");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/support")
        .join(name);
    let mut command = command(python);
    command.arg(script).args(args);
    Some(Running::spawn(command).wait())
}
