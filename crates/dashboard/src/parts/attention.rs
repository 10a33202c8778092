//! Problems and warnings, with remedies, which are shown first on a page.

mod failing;
mod room;

use std::borrow::Cow;

use maud::{Markup, html};

use crate::model::bucket::Row;
use crate::model::redis::Redis;
use crate::parts::layout::detail::marked;
use crate::parts::numbers;

/// A full bucket with fewer jobs than this percentage of its capacity is full by bytes.
const FULL_PERCENT: u64 = 90;
/// Bounds the size of a frame.
const MOST_SHOWN: usize = 20;

/// One problem or warning.
#[derive(Clone)]
pub struct Notice {
    /// `bad` for a problem: jobs are stuck, refused or at risk. `look` for a warning: they may be soon.
    pub mood: &'static str,
    /// The bucket's name, or `Redis`.
    pub subject: String,
    link: String,
    pub what: String,
    pub what_to_do: String,
}

/// Returns the notices of a bucket: texts for the names that the intake returns.
#[must_use]
pub fn of_bucket(bucket: &Row) -> Vec<Notice> {
    let notice = |mood, name: &String| {
        let (what, what_to_do) = words(name, bucket);
        let page = match name.as_str() {
            "dead_letters" | "dead_rising" => "/dead",
            "failing" => failing::page(bucket),
            _ => "",
        };
        let link = format!("/buckets/{}{page}", bucket.name);
        Notice { mood, subject: bucket.name.clone(), link, what, what_to_do: what_to_do.into_owned() }
    };
    let problems = bucket.problems.iter().map(|name| notice("bad", name));
    problems.chain(bucket.warnings.iter().map(|name| notice("look", name))).collect()
}

fn words(name: &str, bucket: &Row) -> (String, Cow<'static, str>) {
    let waiting = || numbers::pluralize(bucket.level, "job waits", "jobs wait");
    let percent = numbers::percent(bucket.level, bucket.capacity);
    let is_full_of_bytes = percent < FULL_PERCENT;
    let room = || Cow::Owned(room::words(bucket, if is_full_of_bytes { "capacity_bytes" } else { "capacity" }));
    let (what, what_to_do) = match name {
        "dead_full" => ("stopped: its dead letters are at their maximum".to_owned(), "replay or delete dead letters"),
        "outbox_full" => {
            let what_to_do = "check that the buckets of its on_outcome have room, and that their upstreams answer";
            ("stopped: its outbox is full".to_owned(), what_to_do)
        }
        "outbox_oversized" => {
            let waiting = numbers::pluralize(bucket.outbox_oversized, "outcome job is", "outcome jobs are");
            let what_to_do = "raise capacity_bytes of that bucket, or delete them from the outbox";
            (format!("{waiting} larger than the bucket that on_outcome names"), what_to_do)
        }
        "no_processor" => {
            (format!("no processor serves it, and {}", waiting()), "start one: dripfeed -c FILE processor")
        }
        "failing" => (failing::words(bucket), failing::WHAT_TO_DO),
        "refusing" => return ("full, and refuses jobs with 429".to_owned(), room()),
        "nearly_full" if is_full_of_bytes => return ("nearly full by its bytes".to_owned(), room()),
        "nearly_full" => return (format!("{percent} % full"), room()),
        "paused" => (format!("paused, and {}", waiting()), "resume it when the upstream is ready"),
        "throttled" => {
            let left = numbers::time(bucket.held_for_ms.unwrap_or(0));
            (format!("throttled by the upstream for another {left}"), "ask the upstream, or lower leak.rate")
        }
        "dead_rising" => {
            let new = numbers::count(bucket.recent_dead);
            let what =
                format!("dead letters are rising: {new} in the last 2 min, {} in all", numbers::count(bucket.dead));
            (what, "look at their reasons; pause the bucket if its upstream is at fault")
        }
        "dead_letters" => (numbers::pluralize(bucket.dead, "dead letter", "dead letters"), "replay or delete them"),
        // An intake of a later version has sent an unknown name.
        other => (other.replace('_', " "), ""),
    };
    (what, Cow::Borrowed(what_to_do))
}

/// Returns the notice of a bucket that can't be read now.
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

/// Notices of buckets that can't be read now. If none can be read (`is_any_read`), one notice for all of them.
pub(crate) fn of_all_unavailable(names: &[String], is_any_read: bool) -> Vec<Notice> {
    if is_any_read || names.len() < 2 {
        return names.iter().map(|name| of_unavailable(name)).collect();
    }
    let what = format!("doesn't answer: none of {} buckets can be read", numbers::count(names.len() as u64));
    let what_to_do = "check Redis, and the log of the intake".to_owned();
    vec![Notice { mood: "bad", subject: "Redis".to_owned(), link: "/redis".to_owned(), what, what_to_do }]
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

/// Puts problems before warnings.
pub fn sort(notices: &mut [Notice]) {
    notices.sort_by_key(|notice| notice.mood != "bad");
}

/// Returns the numbers of problems and warnings.
#[must_use]
pub fn counts(notices: &[Notice]) -> (u64, u64) {
    let problems = notices.iter().filter(|notice| notice.mood == "bad").count();
    (problems as u64, (notices.len() - problems) as u64)
}

/// A list of notices, problems first; a sentence if there are no notices.
pub(crate) fn list(notices: Vec<Notice>) -> Markup {
    let counts = counts(&notices);
    list_of(notices, counts)
}

/// As [`list`], if `notices` aren't all, with the total numbers of problems and warnings.
pub(crate) fn list_of(mut notices: Vec<Notice>, (problems, warnings): (u64, u64)) -> Markup {
    sort(&mut notices);
    notices.truncate(MOST_SHOWN);
    let title = title(problems, warnings);
    let others = (problems + warnings).saturating_sub(notices.len() as u64);
    html! {
        section.attention #attention aria-label="What needs attention" data-problems=(problems) {
            // Screen readers announce when this changes.
            div role="status" {
                @if notices.is_empty() {
                    p.fine { span aria-hidden="true" { "✓" } " All clear: nothing needs attention." }
                } @else { h2 { (title) } }
            }
            @if !notices.is_empty() {
                ul {
                    @for notice in &notices { (one(notice)) }
                    @if others > 0 { li.faint { "and " (numbers::count(others)) " more" } }
                }
            }
        }
    }
}

/// Returns the numbers as text: `1 problem, 2 warnings`.
#[must_use]
pub fn title(problems: u64, warnings: u64) -> String {
    let counted = [(problems, "problem", "problems"), (warnings, "warning", "warnings")];
    let counted = counted.into_iter().filter(|(number, ..)| *number > 0);
    counted.map(|(number, one, many)| numbers::pluralize(number, one, many)).collect::<Vec<_>>().join(", ")
}

fn one(notice: &Notice) -> Markup {
    html! {
        li data-mood=(notice.mood) {
            span.shape aria-hidden="true" { @if notice.mood == "bad" { "■" } @else { "◆" } }
            span { a href=(notice.link) { (notice.subject) } ": " (marked(&notice.what)) "." }
            @if !notice.what_to_do.is_empty() { span.todo { "→ " (marked(&notice.what_to_do)) } }
        }
    }
}
