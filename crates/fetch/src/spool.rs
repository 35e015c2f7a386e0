//! Where long responses wait while they come in, and the memory that whole
//! ones may take.
//!
//! Thousands of connections may each be in the middle of a long body. Of
//! those only the beginning is in memory, the rest in files without a name,
//! which are gone with the process. A response that is complete is read back
//! when there is room for it, and holds that room for as long as anybody
//! holds its bytes.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A response of at most this many bytes is never in a file.
pub(crate) const SPOOL_ABOVE: usize = 64 << 10;

/// Room is counted in pieces of this size.
const PIECE: u64 = 1 << 10;

/// Shared by all connections that hold their bytes in the same memory.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
    pieces: u32,
    room: Arc<Semaphore>,
}

impl Spool {
    /// Files in this folder; so many bytes of long responses in memory. One
    /// that is longer by itself has all of the room.
    pub fn new(folder: PathBuf, memory: u64) -> Spool {
        let pieces = u32::try_from(memory / PIECE).unwrap_or(u32::MAX).max(1);
        Spool {
            folder,
            pieces,
            room: Arc::new(Semaphore::new(pieces as usize)),
        }
    }

    /// Bytes of long responses that may still be read back.
    pub fn free(&self) -> u64 {
        self.room.available_permits() as u64 * PIECE
    }

    async fn room_for(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).unwrap_or(self.pieces);
        let room = Arc::clone(&self.room);
        // The semaphore is never closed; were it, to go on is right.
        room.acquire_many_owned(pieces.min(self.pieces)).await.ok()
    }
}

impl Default for Spool {
    fn default() -> Spool {
        Spool::new(std::env::temp_dir(), 256 << 20)
    }
}

/// The beginning of a long response.
pub(crate) struct Spooled {
    file: File,
    len: u64,
}

impl Spooled {
    pub(crate) fn begin(spool: &Spool) -> io::Result<Spooled> {
        let file = tempfile::tempfile_in(&spool.folder)?;
        Ok(Spooled { file, len: 0 })
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The whole response, when there is room for it.
    pub(crate) async fn read_back(mut self, spool: &Spool, end: &[u8]) -> io::Result<Bytes> {
        let len = self.len + end.len() as u64;
        let room = spool.room_for(len).await;
        let mut bytes = Vec::with_capacity(usize::try_from(len).map_err(io::Error::other)?);
        self.file.rewind()?;
        (&self.file).take(self.len).read_to_end(&mut bytes)?;
        bytes.extend_from_slice(end);
        Ok(Bytes::from_owner(Held { bytes, _room: room }))
    }
}

/// Bytes and the room they take.
struct Held {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
