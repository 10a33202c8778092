//! What needs a person, and what to do about it: first on the page.

use maud::{Markup, html};

use crate::model::bucket::Row;
use crate::model::redis::Redis;
use crate::parts::numbers;

/// A throttle that is longer than this is worth a look.
const LONG_HOLD_MS: u64 = 5 * 60_000;
const NEARLY_FULL_PERCENT: u64 = 90;
/// More than a person reads, and each frame may have them all.
const MOST_SHOWN: usize = 20;

/// One thing.
#[derive(Clone)]
pub struct Notice {
    /// `bad`: work stands still, or is refused or at risk. `look`: it may soon.
    pub mood: &'static str,
    /// The bucket's name, or `Redis`.
    pub subject: String,
    link: String,
    pub what: String,
    pub what_to_do: String,
}

impl Notice {
    fn of(bucket: &Row, mood: &'static str, what: &str, what_to_do: &str) -> Self {
        let link = format!("/buckets/{}", bucket.name);
        let (what, what_to_do) = (what.to_owned(), what_to_do.to_owned());
        Self { mood, subject: bucket.name.clone(), link, what, what_to_do }
    }
}

#[must_use]
pub fn of_bucket(bucket: &Row) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut add = |mood, what: &str, what_to_do: &str| notices.push(Notice::of(bucket, mood, what, what_to_do));
    let full = numbers::percent(bucket.level, bucket.capacity);
    if bucket.reason == "dead_full" {
        add("bad", "its dead letters are full, so it stopped calling", "replay or delete dead letters");
    }
    if bucket.reason == "outbox_full" {
        let what_to_do = "see whether the buckets of its on_outcome are full, and their upstreams answer";
        add("bad", "its outbox is full, so it stopped calling", what_to_do);
    }
    if bucket.replicas == 0 && bucket.level > 0 {
        let waiting = numbers::counted(bucket.level, "job waits", "jobs wait");
        add("bad", &format!("no processor serves it, and {waiting}"), "start one: dripfeed -c FILE processor");
    }
    if bucket.paused && bucket.level > 0 {
        add("look", "it is paused and fills", "resume it when the upstream is ready");
    }
    if bucket.held_for_ms.is_some_and(|ms| ms > LONG_HOLD_MS) {
        let left = numbers::time(bucket.held_for_ms.unwrap_or(0));
        add("look", &format!("the upstream throttles it for another {left}"), "ask the upstream, or lower leak.rate");
    }
    if full >= NEARLY_FULL_PERCENT {
        let refusing = bucket.refused_per_s > 0.0;
        let what = if refusing { "is full and refuses jobs".to_owned() } else { format!("is {full} % full") };
        let mood = if refusing { "bad" } else { "look" };
        add(mood, &what, "raise its rate or its capacity, or have callers slow down");
    }
    if bucket.dead > 0 {
        let letters = numbers::counted(bucket.dead, "dead letter waits", "dead letters wait");
        let mut notice = Notice::of(bucket, "look", &format!("{letters} for a decision"), "replay or delete them");
        notice.link = format!("/buckets/{}/dead", bucket.name);
        notices.push(notice);
    }
    notices
}

/// A bucket that can't be read now.
#[must_use]
pub fn of_unavailable(name: &str) -> Notice {
    Notice {
        mood: "bad",
        subject: name.to_owned(),
        link: format!("/buckets/{name}"),
        what: "its state can't be read".to_owned(),
        what_to_do: "see whether Redis answers, and the log of the intake".to_owned(),
    }
}

#[must_use]
pub fn of_redis(redis: &Redis) -> Vec<Notice> {
    let notice = |mood, what: &str, what_to_do: &str| Notice {
        mood,
        subject: "Redis".to_owned(),
        link: "/redis".to_owned(),
        what: what.to_owned(),
        what_to_do: what_to_do.to_owned(),
    };
    let findings = redis.servers.iter().flat_map(|server| &server.findings);
    let mut notices: Vec<Notice> = findings
        .map(|found| notice(if found.severity == "error" { "bad" } else { "look" }, &found.what, &found.what_to_do))
        .collect();
    notices.extend(redis.memory_warning.iter().map(|warning| notice("look", warning, "")));
    notices
}

/// The worst first.
pub fn sort(notices: &mut [Notice]) {
    notices.sort_by_key(|notice| notice.mood != "bad");
}

/// The worst first; a sentence when nothing needs anybody.
pub(crate) fn list(mut notices: Vec<Notice>) -> Markup {
    sort(&mut notices);
    let others = notices.len().saturating_sub(MOST_SHOWN);
    notices.truncate(MOST_SHOWN);
    html! {
        section.attention #attention aria-label="What needs attention" {
            @if notices.is_empty() {
                p.fine { span aria-hidden="true" { "✓" } " All is well: nothing needs you." }
            } @else {
                ul {
                    @for notice in &notices {
                        li data-mood=(notice.mood) {
                            span.shape aria-hidden="true" { @if notice.mood == "bad" { "■" } @else { "◆" } }
                            div {
                                a href=(notice.link) { (notice.subject) } ": " (notice.what) "."
                                @if !notice.what_to_do.is_empty() { span.todo { " → " (notice.what_to_do) } }
                            }
                        }
                    }
                    @if others > 0 { li.faint { "and " (numbers::count(others as u64)) " more" } }
                }
            }
        }
    }
}
