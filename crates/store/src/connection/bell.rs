//! Notifications over a pub/sub channel whose messages have no content.

use tokio::sync::watch;

/// Why a bell rang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// The message was published.
    Message,
    /// The message may have been published, and was missed.
    Missed,
}

/// The messages on the channel of a bell.
#[derive(Clone, Copy, Debug)]
pub struct BellMessages {
    /// The message for which the bell rings.
    pub ring: &'static str,
    /// The message that others have done what the bell rang for.
    pub done: Option<&'static str>,
}

impl From<&'static str> for BellMessages {
    fn from(ring: &'static str) -> Self {
        Self { ring, done: None }
    }
}

/// Rings when a message is published on a channel, and when that may have been missed.
///
/// A clone rings for messages since the original was last reset.
#[derive(Clone, Debug)]
pub struct Bell {
    state: watch::Receiver<BellState>,
    /// `rings` when the bell was last reset.
    reset_at: u64,
}

#[derive(Debug, Default)]
struct BellState {
    /// How often the message was published.
    rings: u64,
    /// Whether others have done what the last message was for. `false` if messages may have been missed.
    is_done: bool,
    /// `is_done` before the last message.
    was_done: bool,
}

impl Bell {
    /// Ignores messages that were published until now.
    pub fn reset(&mut self) {
        self.reset_at = self.state.borrow_and_update().rings;
    }

    /// Returns whether others have done everything that the bell rang for.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state.borrow().is_done
    }

    /// Returns whether, before the bell last rang, others had done everything that it had rung for until then.
    #[must_use]
    pub fn was_done(&self) -> bool {
        self.state.borrow().was_done
    }

    /// Waits until the bell rings. Returns at once if it rang since it was last reset, or since this last returned.
    /// Cancel safe.
    pub async fn wait_for_ring(&mut self) -> Ring {
        // The store was dropped, so the bell won't ring any more.
        if self.state.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let before = self.reset_at;
        self.reset();
        if self.reset_at == before { Ring::Missed } else { Ring::Message }
    }
}

/// Rings all bells of a channel.
#[derive(Debug)]
pub(super) struct BellRinger {
    messages: BellMessages,
    state: watch::Sender<BellState>,
}

impl BellRinger {
    pub(super) fn new(messages: BellMessages) -> Self {
        Self { messages, state: watch::Sender::default() }
    }

    pub(super) fn bell(&self) -> Bell {
        let state = self.state.subscribe();
        let reset_at = state.borrow().rings;
        Bell { state, reset_at }
    }

    pub(super) fn on_message(&self, message: &[u8]) {
        if message == self.messages.ring.as_bytes() {
            self.state.send_modify(|state| {
                *state = BellState { rings: state.rings.wrapping_add(1), is_done: false, was_done: state.is_done };
            });
        } else if self.messages.done.is_some_and(|done| message == done.as_bytes()) {
            // Wakes nobody.
            self.state.send_if_modified(|state| {
                state.is_done = true;
                false
            });
        }
    }

    pub(super) fn on_missed(&self) {
        self.state.send_modify(|state| (state.is_done, state.was_done) = (false, false));
    }

    pub(super) fn has_bells(&self) -> bool {
        self.state.receiver_count() > 0
    }
}
