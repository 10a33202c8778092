//! A channel of which only is of interest that something was published.

use tokio::sync::watch;

/// Rings when a word is published on a channel, and when that may have been missed.
///
/// A copy rings for what rang since the original was last hushed.
#[derive(Clone, Debug)]
pub struct Bell(watch::Receiver<()>);

impl Bell {
    /// What rang until now is done with.
    pub fn hush(&mut self) {
        self.0.mark_unchanged();
    }

    /// Returns when it rings: at once, if it did since it was last hushed or returned. May be dropped at any time.
    pub async fn rung(&mut self) {
        // The store is gone: nothing will ring any more.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What rings all bells of a channel.
#[derive(Debug)]
pub(super) struct BellRope {
    word: &'static str,
    rope: watch::Sender<()>,
}

impl BellRope {
    pub(super) fn new(word: &'static str) -> Self {
        Self { word, rope: watch::Sender::default() }
    }

    pub(super) fn bell(&self) -> Bell {
        Bell(self.rope.subscribe())
    }

    pub(super) fn is_for(&self, message: &[u8]) -> bool {
        message == self.word.as_bytes()
    }

    pub(super) fn pull(&self) {
        self.rope.send_replace(());
    }

    pub(super) fn has_bells(&self) -> bool {
        self.rope.receiver_count() > 0
    }
}
