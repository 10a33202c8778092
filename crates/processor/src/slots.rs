//! The slots of a bucket in this process. A bucket that is removed and comes back has two lanes for a while: one drains
//! and the other begins. They share the slots.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many are used.
#[derive(Default)]
pub(crate) struct Slots(AtomicUsize);

/// The slot of an attempt, until it is dropped.
pub(crate) struct UsedSlot(Arc<Slots>);

impl Slots {
    pub(crate) fn used(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn take(self: &Arc<Self>) -> UsedSlot {
        self.0.fetch_add(1, Ordering::Relaxed);
        UsedSlot(Arc::clone(self))
    }
}

impl Drop for UsedSlot {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
