//! Prints the state of buckets, for several commands.

use std::io;

use dripfeed_job::{duration, size};
use serde_json::Value as Json;

use crate::output::{self, Column, Format, shown};

const COLUMNS: [Column; 12] = [
    ("BUCKET", |bucket| shown(bucket, "/name")),
    ("LEVEL", |bucket| part_of(bucket, "/level", "/capacity")),
    ("BYTES", |bucket| format!("{} of {}", bytes(bucket, "/bytes"), bytes(bucket, "/capacity_bytes"))),
    ("WAITING", |bucket| shown(bucket, "/waiting")),
    ("IN FLIGHT", |bucket| shown(bucket, "/in_flight")),
    ("PARKED", |bucket| shown(bucket, "/parked")),
    ("DEAD", |bucket| shown(bucket, "/dead")),
    ("OLDEST", |bucket| age(bucket, "/oldest_age_ms")),
    ("IN/S", |bucket| shown(bucket, "/accepted_per_s")),
    ("OUT/S", |bucket| shown(bucket, "/settled_per_s")),
    ("PACE", pace),
    ("ATTENTION", attention),
];

const DETAILS: [Column; 6] = [
    ("KIND", |bucket| shown(bucket, "/kind")),
    ("MAX SHARE", |bucket| shown(bucket, "/max_share")),
    ("REFUSED/S", |bucket| shown(bucket, "/refused_per_s")),
    ("OUTBOX", |bucket| shown(bucket, "/outbox")),
    ("REPLICAS", replicas),
    ("CHANGED", |bucket| changes(bucket)),
];

/// Prints a line for each bucket.
pub(in crate::command) fn print_all(buckets: &[Json], format: Format) -> io::Result<()> {
    for bucket in buckets.iter().filter(|bucket| bucket["error"].is_object()) {
        let [name, title, detail] = ["/name", "/error/title", "/error/detail"].map(|member| shown(bucket, member));
        output::say(format_args!("{name}: {title}: {detail}"));
    }
    match format {
        Format::Table => output::rows(&COLUMNS, buckets),
        Format::Json => output::json(&buckets),
    }
}

/// Prints all details of a bucket. `more`: additional columns of the table.
pub(in crate::command) fn print(bucket: &Json, more: &[Column], format: Format) -> io::Result<()> {
    match format {
        Format::Table => output::sheet(&[COLUMNS.as_slice(), &DETAILS, more].concat(), bucket),
        Format::Json => output::json(bucket),
    }
}

fn part_of(bucket: &Json, part: &str, whole: &str) -> String {
    format!("{} of {}", shown(bucket, part), shown(bucket, whole))
}

fn bytes(bucket: &Json, pointer: &str) -> String {
    bucket.pointer(pointer).and_then(Json::as_u64).map_or_else(|| "-".to_owned(), size::show)
}

fn age(bucket: &Json, pointer: &str) -> String {
    let ms = bucket.pointer(pointer).and_then(Json::as_u64);
    // From 10 s on, rounded down to seconds.
    let ms = ms.map(|ms| if ms < 10_000 { ms } else { ms / 1000 * 1000 });
    ms.map_or_else(|| "-".to_owned(), |ms| duration::show(std::time::Duration::from_millis(ms)))
}

fn pace(bucket: &Json) -> String {
    let target = shown(bucket, "/pace/target");
    match bucket.pointer("/pace/reason").and_then(Json::as_str) {
        _ if bucket["paused"] == true => format!("{target}, paused"),
        Some("held") => format!("{target}, throttled for {}", age(bucket, "/pace/held_for_ms")),
        Some("dead_full") => format!("{target}, stopped: dead letters full"),
        Some("outbox_full") => format!("{target}, stopped: outbox full"),
        Some("no_rate") => "no rate".to_owned(),
        Some("used_up") => format!("{target}, used up for {}", age(bucket, "/pace/used_up_for_ms")),
        Some(why @ ("refusals" | "timeouts")) => {
            format!("{target}, at {}/s after {why}", shown(bucket, "/pace/effective_per_s"))
        }
        _ => target,
    }
}

/// The API's names of problems and warnings. `dripfeed buckets` also prints what to do about them.
fn attention(bucket: &Json) -> String {
    let list = |member: &str| bucket[member].as_array().cloned().unwrap_or_default();
    let names = [list("problems"), list("warnings")].concat();
    let names: Vec<&str> = names.iter().filter_map(Json::as_str).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

fn replicas(bucket: &Json) -> String {
    let replicas = bucket["replicas"].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines = replicas.iter().map(|replica| {
        let silent = if replica["silent"] == true { ", no heartbeat" } else { "" };
        format!("{} ({} in flight{silent})", shown(replica, "/consumer"), shown(replica, "/in_flight"))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { "none: jobs wait until a processor serves the bucket".to_owned() } else { lines.join("\n") }
}

fn changes(bucket: &Json) -> String {
    match bucket["changes"].as_object() {
        Some(changes) if !changes.is_empty() => bucket["changes"].to_string(),
        _ => "-".to_owned(),
    }
}
