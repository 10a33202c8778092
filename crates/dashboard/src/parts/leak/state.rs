//! What a bucket is doing now, in a word.

use maud::{Markup, html};

use crate::model::bucket::Row;

/// The name of a bucket's state, with a shape, because colour alone isn't accessible.
pub struct State {
    pub word: &'static str,
    pub shape: &'static str,
    /// `good`, `look` or `bad`.
    pub mood: &'static str,
}

const fn state(shape: &'static str, word: &'static str, mood: &'static str) -> State {
    State { word, shape, mood }
}

impl State {
    #[must_use]
    pub fn of(bucket: &Row) -> Self {
        match bucket.reason.as_str() {
            "paused" => state("‖", "paused", "look"),
            "dead_full" | "outbox_full" => state("■", "stopped", "bad"),
            _ if bucket.replicas == 0 && bucket.level > 0 => state("■", "no processor", "bad"),
            _ if bucket.fails() => state("■", "failing", "bad"),
            "held" => state("◆", "throttled", "look"),
            "used_up" => state("◆", "quota used up", "look"),
            "refusals" | "timeouts" => state("◆", "slowed", "look"),
            _ if bucket.level >= bucket.capacity || bucket.refuses() => state("▲", "full", "bad"),
            _ if bucket.replicas == 0 => state("○", "no processor", "look"),
            _ if bucket.level == 0 => state("○", "empty", "good"),
            _ if bucket.level == bucket.parked => state("○", "parked", "good"),
            _ => state("●", "leaking", "good"),
        }
    }

    pub(crate) fn badge(&self) -> Markup {
        html! { span.badge data-mood=(self.mood) { span aria-hidden="true" { (self.shape) } " " (self.word) } }
    }
}
