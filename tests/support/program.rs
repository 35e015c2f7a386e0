//! The program as a child process that never outlives its test.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::patience::wait_for;

pub const RHUMB: &str = env!("CARGO_BIN_EXE_rhumb");

/// How a call of the program ended.
#[derive(Debug)]
pub struct Done {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    pub fn expect_code(self, code: i32) -> Done {
        assert_eq!(
            self.code,
            Some(code),
            "stdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// The last line of standard output, as JSON.
    pub fn json(&self) -> serde_json::Value {
        let line = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{error} in {line:?}; stderr: {}", self.stderr))
    }

    pub fn lines(&self) -> Vec<String> {
        self.stdout.lines().map(str::to_owned).collect()
    }

    pub fn assert_stderr_has(&self, text: &str) {
        assert!(
            self.stderr.contains(text),
            "no {text:?} in: {}",
            self.stderr
        );
    }
}

/// A command without the settings of whoever runs the tests.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"RHUMB_") {
            command.env_remove(name);
        }
    }
    command
}

/// Run the program to its end.
pub fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Done {
    Running::start(args).wait()
}

/// Run the program to its end with this on standard input.
pub fn run_with<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>, input: &[u8]) -> Done {
    let mut running = Running::start(args);
    // A program that reads no further closes its end: that shows in `Done`.
    let _ = running
        .child
        .stdin
        .take()
        .map(|mut pipe| pipe.write_all(input));
    running.wait()
}

/// A running program; ended when this is dropped, also when a test fails.
pub struct Running {
    child: Child,
    stdout: Collector,
    stderr: Collector,
}

impl Running {
    pub fn start<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Running {
        let mut command = command(RHUMB);
        command.args(args);
        Running::spawn(command)
    }

    pub fn spawn(mut command: Command) -> Running {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Running {
            stdout: Collector::of(child.stdout.take()),
            stderr: Collector::of(child.stderr.take()),
            child,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Write a line to its standard input.
    pub fn tell(&mut self, line: &str) {
        let pipe = self.child.stdin.as_mut().expect("an open standard input");
        writeln!(pipe, "{line}").expect("it reads its standard input");
    }

    pub fn stdout_so_far(&self) -> String {
        self.stdout.text()
    }

    pub fn stderr_so_far(&self) -> String {
        self.stderr.text()
    }

    /// Send a signal by its name: `INT`, `TERM`, `KILL`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
    }

    pub fn has_ended(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("a child can be asked")
            .is_some()
    }

    /// Close standard input and wait for the end. A fault of the program
    /// fails the test, whatever the test is about.
    pub fn wait(mut self) -> Done {
        drop(self.child.stdin.take());
        let status: ExitStatus = wait_for("the end of the program", || {
            self.child.try_wait().expect("a child can be asked")
        });
        let done = Done {
            code: status.code(),
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
        };
        assert!(!done.stderr.contains("panicked at"), "{}", done.stderr);
        done
    }

    /// End it as a crash of the machine would, as far as the program knows.
    pub fn kill(self) -> Done {
        self.signal("KILL");
        self.wait()
    }

    pub fn interrupt(self) -> Done {
        self.signal("INT");
        self.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe to its end on a thread of its own.
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Collector {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut piece = [0; 8192];
            let Some(mut pipe) = pipe else { return };
            while let Ok(length @ 1..) = pipe.read(&mut piece) {
                let mut bytes = into.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&piece[..length]);
            }
        });
        Collector {
            bytes,
            thread: Some(thread),
        }
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn finish(&mut self) -> String {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the collector ends");
        }
        self.text()
    }
}
