//! Other people's readers of web archives, where a Python with them is.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::note;

/// The project's folder: all who use this are one below it, or two.
fn project() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut own = own.filter(|folder| folder.join("tests/support/read_archive.py").is_file());
    own.next().map(Path::to_owned)
}

/// Have warcio and FastWARC read the archive. False, told plainly, where they
/// are not installed.
pub fn read(folder: &Path, captures: usize, breaches: &mut Vec<String>) -> bool {
    let project = project().unwrap_or_default();
    let own = project.join(".venv/bin/python");
    let named = std::env::var_os("VALIDATORS_PYTHON").map(PathBuf::from);
    let Some(python) = named.or_else(|| own.is_file().then_some(own)) else {
        eprintln!("left out: VALIDATORS_PYTHON names no Python with warcio and fastwarc");
        return false;
    };
    let script = project.join("tests/support/read_archive.py");
    let output = Command::new(python).arg(script).arg(folder).output();
    let report: serde_json::Value = match output {
        Ok(output) => serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            serde_json::json!({ "complaints": [format!("{error}: {told}")] })
        }),
        Err(error) => serde_json::json!({ "complaints": [error.to_string()] }),
    };
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    note(breaches, "complaints of the validators", list("complaints"));
    for reader in ["warcio", "fastwarc"] {
        let found = list(reader).len();
        if found != captures {
            breaches.push(format!(
                "{reader} finds {found} pages, the journal has {captures}"
            ));
        }
    }
    true
}
