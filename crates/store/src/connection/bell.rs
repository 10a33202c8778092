//! Notifications over a pub/sub channel whose messages have no content.

use tokio::sync::watch;

/// Why a bell rang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// The word was published.
    Word,
    /// The word may have been published, and was missed.
    Missed,
}

/// The messages on the channel of a bell.
#[derive(Clone, Copy, Debug)]
pub struct BellWords {
    /// The message for which the bell rings.
    pub ring: &'static str,
    /// The message that others have done what the bell rang for.
    pub done: Option<&'static str>,
}

impl From<&'static str> for BellWords {
    fn from(ring: &'static str) -> Self {
        Self { ring, done: None }
    }
}

/// Rings when a word is published on a channel, and when that may have been missed.
///
/// A clone rings for words since the original was last hushed.
#[derive(Clone, Debug)]
pub struct Bell {
    words: watch::Receiver<Words>,
    /// `rings` when the bell was last hushed.
    hushed_at: u64,
}

#[derive(Debug, Default)]
struct Words {
    /// How often the word was published.
    rings: u64,
    /// Whether others have done what the last word was for. `false` if messages may have been missed.
    is_done: bool,
    /// `is_done` before the last word.
    was_done: bool,
}

impl Bell {
    /// Ignores words that were published until now.
    pub fn hush(&mut self) {
        self.hushed_at = self.words.borrow_and_update().rings;
    }

    /// Whether others have done everything that the bell rang for.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.words.borrow().is_done
    }

    /// Whether, before the bell last rang, others had done everything that it had rung for until then.
    #[must_use]
    pub fn was_done(&self) -> bool {
        self.words.borrow().was_done
    }

    /// Waits until the bell rings. Returns at once if it rang since it was last hushed, or since this last returned.
    /// Cancel safe.
    pub async fn rung(&mut self) -> Ring {
        // The store was dropped, so the bell won't ring any more.
        if self.words.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let before = self.hushed_at;
        self.hush();
        if self.hushed_at == before { Ring::Missed } else { Ring::Word }
    }
}

/// Rings all bells of a channel.
#[derive(Debug)]
pub(super) struct BellRope {
    messages: BellWords,
    words: watch::Sender<Words>,
}

impl BellRope {
    pub(super) fn new(messages: BellWords) -> Self {
        Self { messages, words: watch::Sender::default() }
    }

    pub(super) fn bell(&self) -> Bell {
        let words = self.words.subscribe();
        let hushed_at = words.borrow().rings;
        Bell { words, hushed_at }
    }

    pub(super) fn hear(&self, message: &[u8]) {
        if message == self.messages.ring.as_bytes() {
            self.words.send_modify(|words| {
                *words = Words { rings: words.rings.wrapping_add(1), is_done: false, was_done: words.is_done };
            });
        } else if self.messages.done.is_some_and(|done| message == done.as_bytes()) {
            // Wakes nobody.
            self.words.send_if_modified(|words| {
                words.is_done = true;
                false
            });
        }
    }

    pub(super) fn miss(&self) {
        self.words.send_modify(|words| (words.is_done, words.was_done) = (false, false));
    }

    pub(super) fn has_bells(&self) -> bool {
        self.words.receiver_count() > 0
    }
}
