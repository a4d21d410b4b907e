//! A file that takes room on the disk, to be given up when the disk is full.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a reserve that was spent is not filled again: on a full disk that would be its only use.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    bytes: u64,
    is_there: bool,
    spent: Option<Instant>,
}

impl Reserve {
    pub(super) fn new(path: PathBuf, bytes: u64) -> Self {
        let is_there = std::fs::metadata(&path).is_ok_and(|file| file.len() == bytes);
        Self { path, bytes, is_there, spent: None }
    }

    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives up the reserve, so that the next write has room.
    pub(super) fn spend(&mut self) {
        self.is_there = false;
        self.spent = Some(Instant::now());
        // If the file cannot be removed, there is no reserve, and the disk stays full.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Takes the room again if there is enough. Returns whether the reserve is there.
    pub(super) fn fill(&mut self) -> bool {
        if !self.is_there && self.spent.is_none_or(|spent| spent.elapsed() >= PAUSE) {
            self.is_there = self.write().is_ok();
            if !self.is_there {
                self.spend();
            }
        }
        self.is_there
    }

    /// Writes bytes that no file system packs.
    fn write(&self) -> io::Result<()> {
        let mut file = File::create(&self.path)?;
        let mut chunk = [0; 8192];
        let (mut state, mut left) = (0x9e37_79b9_7f4a_7c15_u64, self.bytes);
        while left > 0 {
            for word in chunk.chunks_exact_mut(8) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                word.copy_from_slice(&state.to_le_bytes());
            }
            let length = left.min(chunk.len() as u64);
            file.write_all(&chunk[..usize::try_from(length).unwrap_or(chunk.len())])?;
            left -= length;
        }
        file.sync_all()
    }
}
