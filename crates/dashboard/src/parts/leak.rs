//! How fast a bucket leaks, and why not faster.

use maud::{Markup, html};

use crate::model::bucket::{Bucket, Row};
use crate::parts::{numbers, when};

/// What the state of a bucket is called, with a shape: colour alone says nothing.
pub(crate) struct State {
    pub(crate) word: &'static str,
    pub(crate) shape: &'static str,
    /// `good`, `look` or `bad`.
    pub(crate) mood: &'static str,
}

const fn state(shape: &'static str, word: &'static str, mood: &'static str) -> State {
    State { word, shape, mood }
}

impl State {
    pub(crate) fn of(bucket: &Row) -> Self {
        match bucket.reason.as_str() {
            "paused" => state("‖", "paused", "look"),
            "dead_full" => state("■", "stopped", "bad"),
            _ if bucket.replicas == 0 && bucket.level > 0 => state("■", "no processor", "bad"),
            "held" => state("◆", "throttled", "look"),
            "used_up" => state("◆", "quota used up", "look"),
            "refusals" | "timeouts" => state("◆", "slowed", "look"),
            _ if bucket.level >= bucket.capacity => state("▲", "full", "bad"),
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

/// The target, the effective rate, and why they differ.
pub(crate) fn why(bucket: &Bucket) -> Markup {
    let pace = &bucket.pace;
    let target = pace.target.as_deref().unwrap_or("no rate limit");
    let effective = pace.effective_per_s.map(numbers::per_second);
    html! {
        @match pace.reason.as_str() {
            "paused" => { strong { "Paused" } ". It fills until somebody resumes it. Its rate is " (target) "." }
            "held" => {
                strong { "Throttled by the upstream" }
                @if let Some(ms) = pace.held_for_ms { " until " (when::clock_in(ms)) }
                ". Its rate is " (target) "."
            }
            "used_up" => { "The " strong { "quota is used up" } " for now: " (target) "." }
            "refusals" => { (cut(effective.as_deref(), target)) "the upstream refuses calls." }
            "timeouts" => { (cut(effective.as_deref(), target)) "calls time out." }
            "dead_full" => { strong { "Stopped" } ": its dead letters are full." }
            "no_rate" => { "Leaks as fast as the upstream answers: no rate limit is set." }
            _ if bucket.replicas.is_empty() => { strong { "No processor" } " serves it. Its rate is " (target) "." }
            _ => { "Leaks at up to " strong { (target) } ", as configured." }
        }
    }
}

fn cut(effective: Option<&str>, target: &str) -> Markup {
    html! { strong { "Cut to " (effective.unwrap_or("less")) } " of " (target) ": " }
}

/// When it will be empty, if nothing else comes.
pub(crate) fn empties(bucket: &Row) -> Option<String> {
    let rate = bucket.effective_per_s.filter(|rate| *rate > 0.0)?;
    // Parked jobs leave when they are due, and not before.
    let ready = bucket.waiting + bucket.in_flight;
    (ready > 0 && bucket.replicas > 0).then(|| numbers::time(ms_for(ready, rate)))
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn ms_for(jobs: u64, per_s: f64) -> u64 {
    (jobs as f64 / per_s * 1000.0) as u64
}
