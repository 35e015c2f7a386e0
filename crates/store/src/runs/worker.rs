//! Work that must not hold up a shard: writing, merging and searching runs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use super::RunsError;

type Job = Box<dyn FnOnce() + Send>;

/// Does one job after another on a thread of its own, and rings when one is
/// done. Clones share the thread; it ends with the last of them.
#[derive(Clone)]
pub struct Worker {
    /// `None`: jobs are done at once, by whoever asks.
    jobs: Option<Sender<Job>>,
    bell: Arc<dyn Fn() + Send + Sync>,
}

impl Worker {
    /// `bell` is rung, on the worker's thread, after every job.
    pub fn start(name: &str, bell: impl Fn() + Send + Sync + 'static) -> std::io::Result<Worker> {
        let (jobs, queue) = channel::<Job>();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                for job in queue {
                    job();
                }
            })?;
        Ok(Worker {
            jobs: Some(jobs),
            bell: Arc::new(bell),
        })
    }

    /// A worker that does each job before `run` returns: for tests that need
    /// every write in a fixed order, and for offline work.
    pub fn inline() -> Worker {
        Worker {
            jobs: None,
            bell: Arc::new(|| {}),
        }
    }

    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Running<T> {
        let (sender, result) = channel();
        let bell = Arc::clone(&self.bell);
        let job = move || {
            // Whoever asked may have gone.
            let _ = sender.send(work());
            bell();
        };
        match &self.jobs {
            None => job(),
            // A thread that died drops the job, and `Running` tells.
            Some(jobs) => drop(jobs.send(Box::new(job))),
        }
        Running { result }
    }
}

/// A job that was handed to a worker.
pub struct Running<T> {
    result: Receiver<T>,
}

impl<T> Running<T> {
    /// What came of it, if it is done.
    pub fn take(&self) -> Result<Option<T>, RunsError> {
        match self.result.try_recv() {
            Ok(result) => Ok(Some(result)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(RunsError::Died),
        }
    }

    /// Wait until it is done.
    pub fn wait(self) -> Result<T, RunsError> {
        self.result.recv().map_err(|_| RunsError::Died)
    }
}
