//! What needs attention, and the remedies: first on the page.

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

/// For want of room: a bucket that leaks isn't full at each moment.
pub(crate) fn refuses(bucket: &Row) -> bool {
    bucket.refused_per_s > 0.0 && numbers::percent(bucket.level, bucket.capacity) >= NEARLY_FULL_PERCENT
}

#[must_use]
pub fn of_bucket(bucket: &Row) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut add = |mood, what: &str, what_to_do: &str| notices.push(Notice::of(bucket, mood, what, what_to_do));
    let full = numbers::percent(bucket.level, bucket.capacity);
    if bucket.reason == "dead_full" {
        add("bad", "stopped: its dead letters are at their maximum", "replay or delete dead letters");
    }
    if bucket.reason == "outbox_full" {
        let what_to_do = "check that the buckets of its on_outcome have room, and that their upstreams answer";
        add("bad", "stopped: its outbox is full", what_to_do);
    }
    if bucket.outbox_oversized > 0 {
        let waiting = numbers::counted(bucket.outbox_oversized, "outcome job is", "outcome jobs are");
        let what_to_do = "raise capacity_bytes of that bucket, or delete them from the outbox";
        add("bad", &format!("{waiting} larger than the bucket that on_outcome names"), what_to_do);
    }
    if bucket.replicas == 0 && bucket.level > 0 {
        let waiting = numbers::counted(bucket.level, "job waits", "jobs wait");
        add("bad", &format!("no processor serves it, and {waiting}"), "start one: dripfeed -c FILE processor");
    }
    if bucket.paused && bucket.level > 0 {
        let waiting = numbers::counted(bucket.level, "job waits", "jobs wait");
        add("look", &format!("paused, and {waiting}"), "resume it when the upstream is ready");
    }
    if bucket.held_for_ms.is_some_and(|ms| ms > LONG_HOLD_MS) {
        let left = numbers::time(bucket.held_for_ms.unwrap_or(0));
        add("look", &format!("throttled by the upstream for another {left}"), "ask the upstream, or lower leak.rate");
    }
    if full >= NEARLY_FULL_PERCENT {
        let refusing = refuses(bucket);
        let what = if refusing { "full, and refuses jobs with 429".to_owned() } else { format!("{full} % full") };
        let mood = if refusing { "bad" } else { "look" };
        add(mood, &what, "raise leak.rate or capacity, or slow its callers down");
    }
    if bucket.dead > 0 {
        let letters = numbers::counted(bucket.dead, "dead letter", "dead letters");
        let mut notice = Notice::of(bucket, "look", &letters, "replay or delete them");
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
        what_to_do: "check Redis, and the log of the intake".to_owned(),
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

/// How many are problems, and how many warnings.
pub(crate) fn counts(notices: &[Notice]) -> (u64, u64) {
    let problems = notices.iter().filter(|notice| notice.mood == "bad").count();
    (problems as u64, (notices.len() - problems) as u64)
}

/// The worst first; a sentence when nothing needs anybody.
pub(crate) fn list(notices: Vec<Notice>) -> Markup {
    let counts = counts(&notices);
    list_of(notices, counts)
}

/// As [`list`], of some notices, with the numbers of all problems and warnings.
pub(crate) fn list_of(mut notices: Vec<Notice>, (problems, warnings): (u64, u64)) -> Markup {
    sort(&mut notices);
    notices.truncate(MOST_SHOWN);
    let title = title(problems, warnings);
    let others = (problems + warnings).saturating_sub(notices.len() as u64);
    html! {
        section.attention #attention aria-label="What needs attention" data-problems=(problems) {
            @if notices.is_empty() {
                p.fine { span aria-hidden="true" { "✓" } " All clear: nothing needs attention." }
            } @else {
                h2 { (title) }
                ul {
                    @for notice in &notices { (one(notice)) }
                    @if others > 0 { li.faint { "and " (numbers::count(others)) " more" } }
                }
            }
        }
    }
}

/// `1 problem, 2 warnings`
fn title(problems: u64, warnings: u64) -> String {
    let counted = [(problems, "problem", "problems"), (warnings, "warning", "warnings")];
    let counted = counted.into_iter().filter(|(number, ..)| *number > 0);
    counted.map(|(number, one, many)| numbers::counted(number, one, many)).collect::<Vec<_>>().join(", ")
}

fn one(notice: &Notice) -> Markup {
    html! {
        li data-mood=(notice.mood) {
            span.shape aria-hidden="true" { @if notice.mood == "bad" { "■" } @else { "◆" } }
            span { a href=(notice.link) { (notice.subject) } ": " (notice.what) "." }
            @if !notice.what_to_do.is_empty() { span.todo { "→ " (notice.what_to_do) } }
        }
    }
}
