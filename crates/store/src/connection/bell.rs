//! Notifications of a channel whose messages have no content.

use tokio::sync::watch;

/// Why a bell rang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// Its word was published.
    Word,
    /// That may have happened, and was missed.
    Missed,
}

/// Rings when a word is published on a channel, and when that may have been missed.
///
/// A copy rings for what rang since the original was last hushed.
#[derive(Clone, Debug)]
pub struct Bell {
    /// How often the word was published.
    words: watch::Receiver<u64>,
    heard: u64,
}

impl Bell {
    /// What rang until now is done with.
    pub fn hush(&mut self) {
        self.heard = *self.words.borrow_and_update();
    }

    /// Returns when it rings: at once, if it did since it was last hushed or returned. May be dropped at any time.
    pub async fn rung(&mut self) -> Ring {
        // The store is gone: nothing will ring any more.
        if self.words.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let before = self.heard;
        self.hush();
        if self.heard == before { Ring::Missed } else { Ring::Word }
    }
}

/// What rings all bells of a channel.
#[derive(Debug)]
pub(super) struct BellRope {
    word: &'static str,
    words: watch::Sender<u64>,
}

impl BellRope {
    pub(super) fn new(word: &'static str) -> Self {
        Self { word, words: watch::Sender::default() }
    }

    pub(super) fn bell(&self) -> Bell {
        let words = self.words.subscribe();
        let heard = *words.borrow();
        Bell { words, heard }
    }

    pub(super) fn hear(&self, message: &[u8]) {
        if message == self.word.as_bytes() {
            self.words.send_modify(|words| *words = words.wrapping_add(1));
        }
    }

    pub(super) fn miss(&self) {
        self.words.send_modify(|_| {});
    }

    pub(super) fn has_bells(&self) -> bool {
        self.words.receiver_count() > 0
    }
}
