//! The salt for hashed Redis keys.

use std::sync::Arc;

use parking_lot::RwLock;

/// The salt of an installation, as all clones of a [`crate::Store`] know it. Until the installation is opened it is all
/// zero.
#[derive(Clone, Debug, Default)]
pub struct Salt(Arc<RwLock<[u8; 16]>>);

impl Salt {
    /// As it is now: it changes only where Redis has lost it and another process was the first to write one.
    pub fn bytes(&self) -> [u8; 16] {
        *self.0.read()
    }

    pub(crate) fn set(&self, bytes: [u8; 16]) {
        *self.0.write() = bytes;
    }
}
