//! A lock file, which prevents a second server in the same directory.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

/// A file that this process has locked, until this is dropped. It is then unlocked and not only closed, because a child
/// that is just being started has all open files of this process, which would keep the lock.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks the file, which is created if needed, until this is dropped or the process ends.
    ///
    /// # Errors
    /// `WouldBlock` when another process has it.
    pub fn acquire(path: &Path) -> Result<Self, TryLockError> {
        let file = File::create(path).map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(Self(file))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // If this fails, closing the file unlocks it.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_lock_ends_although_a_starting_child_has_its_file_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = FileLock::acquire(&path).unwrap();
        assert!(matches!(FileLock::acquire(&path), Err(TryLockError::WouldBlock)));
        let of_the_child = lock.0.try_clone().unwrap();
        drop(lock);
        FileLock::acquire(&path).unwrap();
        drop(of_the_child);
    }
}
