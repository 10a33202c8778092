//! The salt for hashed Redis keys.

use std::sync::Arc;

use parking_lot::RwLock;

/// The salt of an installation, shared by all clones of a [`crate::Store`]. All zero until the installation is opened.
#[derive(Clone, Debug, Default)]
pub struct Salt(Arc<RwLock<[u8; 16]>>);

impl Salt {
    /// Returns the current salt. It changes only if Redis has lost it, and another process has written a new one.
    pub fn bytes(&self) -> [u8; 16] {
        *self.0.read()
    }

    pub(crate) fn set(&self, bytes: [u8; 16]) {
        *self.0.write() = bytes;
    }
}
