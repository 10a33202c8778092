//! Counts dead letters by reason and last status.

use std::collections::HashMap;

use dripfeed_job::JobId;

use crate::bucket::Bucket;
use crate::ended::dead_letters::{DeadFilter, LIST};
use crate::error::BucketError;
use crate::inspect::pagination::Cursor;
use crate::script::redis_bucket::WaitFor;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;

static GROUP_DEAD: Scripts = Scripts::new("group_dead", include_str!("group_dead.lua"));

/// Maximum script calls for one answer. Each reads up to 200 letters, or as many bytes as a script may read.
const CALLS: usize = 200;
/// Maximum groups that are counted separately in one answer, and maximum bytes of their reasons. Letters of further
/// groups are counted together.
const MOST_GROUPS: usize = 1000;
const REASON_BYTES: usize = 256 * 1024;

/// Dead letters of one reason and last status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadGroup {
    /// `None` if the last attempt had no answer.
    pub status: Option<u16>,
    pub reason: String,
    pub letters: u64,
    /// When the first and the last of these jobs died, ms since the epoch.
    pub first_ms: u64,
    pub last_ms: u64,
}

/// The largest groups first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadGroups {
    pub groups: Vec<DeadGroup>,
    /// Letters that are in none of these groups.
    pub others: u64,
    /// The position of the letters that weren't read, if any.
    pub next: Option<Cursor>,
}

impl Bucket {
    /// Returns at most `limit` groups of the letters that match.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a cursor of another list.
    pub async fn dead_groups(
        &self,
        filter: &DeadFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<DeadGroups, BucketError> {
        let settings = self.redis_bucket.settings();
        let bucket = settings.name.as_str();
        let mut from = filter.beginning(after, bucket)?;
        let (ending, mut counts) = (filter.ending(), GroupCounts::default());
        for _ in 0..CALLS {
            let mut call = GROUP_DEAD.of(self.redis_bucket.kind).on(&[self.redis_bucket.keys.dead()]);
            call.arg(&from);
            filter.add_to(&mut call, &ending);
            let (_, mut reply) = self.redis_bucket.read("group_dead", &call, WaitFor::Reply).await?;
            let last = reply.text()?;
            while !reply.is_empty() {
                counts.add(read(reply.array()?)?);
            }
            if last.is_empty() {
                return Ok(counts.largest(limit, None));
            }
            from = format!("({last}");
        }
        let last = from.strip_prefix('(').unwrap_or(&from);
        Ok(counts.largest(limit, Some(Cursor::new(LIST, bucket, last))))
    }
}

fn read(mut group: Reply) -> Result<DeadGroup, BucketError> {
    Ok(DeadGroup {
        status: group.text()?.parse().ok(),
        reason: String::from_utf8_lossy(&group.bytes()?).into_owned(),
        letters: group.count()?,
        first_ms: group.parse::<JobId>()?.accepted_ms(),
        last_ms: group.parse::<JobId>()?.accepted_ms(),
    })
}

/// Sums the counts of several calls, oldest letters first.
#[derive(Default)]
struct GroupCounts {
    groups: Vec<DeadGroup>,
    places: HashMap<(Option<u16>, String), usize>,
    reason_bytes: usize,
    others: u64,
}

impl GroupCounts {
    fn add(&mut self, part: DeadGroup) {
        let name = (part.status, part.reason.clone());
        if let Some(group) = self.places.get(&name).and_then(|place| self.groups.get_mut(*place)) {
            group.letters += part.letters;
            group.last_ms = part.last_ms;
        } else if self.groups.len() < MOST_GROUPS && self.reason_bytes + part.reason.len() <= REASON_BYTES {
            self.reason_bytes += part.reason.len();
            self.places.insert(name, self.groups.len());
            self.groups.push(part);
        } else {
            self.others += part.letters;
        }
    }

    fn largest(self, limit: usize, next: Option<Cursor>) -> DeadGroups {
        let Self { mut groups, others, .. } = self;
        groups
            .sort_by(|a, b| b.letters.cmp(&a.letters).then_with(|| (a.status, &a.reason).cmp(&(b.status, &b.reason))));
        let left = groups.split_off(limit.min(groups.len()));
        let others = others + left.iter().map(|group| group.letters).sum::<u64>();
        DeadGroups { groups, others, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(number: usize, letters: u64) -> DeadGroup {
        DeadGroup { status: None, reason: format!("reason {number}"), letters, first_ms: 1, last_ms: 2 }
    }

    #[test]
    fn groups_are_bounded_and_no_letter_is_missed() {
        let mut counts = GroupCounts::default();
        for number in 0..2 * MOST_GROUPS {
            counts.add(group(number, 1));
        }
        counts.add(group(7, 5));
        let largest = counts.largest(2, None);
        assert_eq!(largest.groups, [group(7, 6), group(0, 1)]);
        assert_eq!(largest.others, 2 * MOST_GROUPS as u64 - 2);
    }

    #[test]
    fn long_reasons_are_bounded_too() {
        let mut counts = GroupCounts::default();
        let long = |name: &str| DeadGroup { reason: name.repeat(REASON_BYTES), ..group(0, 1) };
        counts.add(long("a"));
        counts.add(long("b"));
        let largest = counts.largest(10, None);
        assert_eq!((largest.groups.len(), largest.others), (1, 1));
    }
}
