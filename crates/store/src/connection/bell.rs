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

/// What is published on the channel of a bell.
#[derive(Clone, Copy, Debug)]
pub struct BellWords {
    /// The bell rings.
    pub ring: &'static str,
    /// Others have done what it rang for.
    pub done: Option<&'static str>,
}

impl From<&'static str> for BellWords {
    fn from(ring: &'static str) -> Self {
        Self { ring, done: None }
    }
}

/// Rings when a word is published on a channel, and when that may have been missed.
///
/// A copy rings for what rang since the original was last hushed.
#[derive(Clone, Debug)]
pub struct Bell {
    words: watch::Receiver<Heard>,
    heard: u64,
}

#[derive(Debug, Default)]
struct Heard {
    /// How often the word was published.
    rings: u64,
    /// What the last of them was for, and what the one before was for when that came. No longer known where a message
    /// may have been missed.
    is_done: bool,
    was_done: bool,
}

impl Bell {
    /// What rang until now is done with.
    pub fn hush(&mut self) {
        self.heard = self.words.borrow_and_update().rings;
    }

    /// Whether others have done all that it ever rang for.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.words.borrow().is_done
    }

    /// Whether others had done, before it last rang, all that it had rung for until then.
    #[must_use]
    pub fn was_done(&self) -> bool {
        self.words.borrow().was_done
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
    of: BellWords,
    words: watch::Sender<Heard>,
}

impl BellRope {
    pub(super) fn new(of: BellWords) -> Self {
        Self { of, words: watch::Sender::default() }
    }

    pub(super) fn bell(&self) -> Bell {
        let words = self.words.subscribe();
        let heard = words.borrow().rings;
        Bell { words, heard }
    }

    pub(super) fn hear(&self, message: &[u8]) {
        if message == self.of.ring.as_bytes() {
            self.words.send_modify(|heard| {
                *heard = Heard { rings: heard.rings.wrapping_add(1), is_done: false, was_done: heard.is_done };
            });
        } else if self.of.done.is_some_and(|done| message == done.as_bytes()) {
            // Nobody wakes for that.
            self.words.send_if_modified(|heard| {
                heard.is_done = true;
                false
            });
        }
    }

    pub(super) fn miss(&self) {
        self.words.send_modify(|heard| (heard.is_done, heard.was_done) = (false, false));
    }

    pub(super) fn has_bells(&self) -> bool {
        self.words.receiver_count() > 0
    }
}
