//! Pages of lists, and their cursors.

use std::fmt;
use std::str::FromStr;

use dripfeed_job::JobId;
use thiserror::Error;

use crate::script::constants::BATCH_BYTES;

/// The maximum number of calls of Redis for one page. Its cursor continues after what these returned.
pub(crate) const CALLS: usize = 100;
/// The bytes read after which a page ends. Below this, another script may read at least one more entry.
pub(crate) const PAGE_BYTES: usize = BATCH_BYTES;

/// The largest possible id. Redis refuses a range that begins after it.
pub(crate) const LARGEST_ID: JobId = JobId::new(u64::MAX, u64::MAX);

/// The position in a list of a bucket. Opaque to callers; `Display` and `FromStr` convert it for URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    list: String,
    bucket: String,
    position: String,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the cursor isn't one of this list: use `next` of the previous page, or omit it")]
pub struct BadCursor;

impl Cursor {
    pub(crate) fn new(list: &str, bucket: &str, position: impl fmt::Display) -> Self {
        Self { list: list.to_owned(), bucket: bucket.to_owned(), position: position.to_string() }
    }

    /// Returns the position if the cursor is of this list and bucket.
    pub(crate) fn position<T: FromStr>(&self, list: &str, bucket: &str) -> Result<T, BadCursor> {
        if self.list != list || self.bucket != bucket {
            return Err(BadCursor);
        }
        self.position.parse().map_err(|_| BadCursor)
    }

    /// Returns the position as the id of a job. Refuses the largest id, after which Redis has no range.
    pub(crate) fn job(&self, list: &str, bucket: &str) -> Result<JobId, BadCursor> {
        self.position(list, bucket).and_then(|id| if id == LARGEST_ID { Err(BadCursor) } else { Ok(id) })
    }
}

impl fmt::Display for Cursor {
    /// Names of buckets contain no `~`, so it can separate the parts. No character has to be escaped in a query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}~{}", self.list, self.bucket, self.position)
    }
}

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '~');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(list), Some(bucket), Some(position)) if text.len() < 256 => Ok(Self::new(list, bucket, position)),
            _ => Err(BadCursor),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<Cursor>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_knows_where_it_belongs() {
        let cursor = Cursor::new("jobs", "a.b-c", "17-0");
        assert_eq!(cursor.to_string().parse(), Ok(cursor.clone()));
        assert_eq!(cursor.position::<String>("jobs", "a.b-c").as_deref(), Ok("17-0"));
        assert_eq!(cursor.position::<String>("dead", "a.b-c"), Err(BadCursor));
        assert_eq!(cursor.position::<String>("jobs", "other"), Err(BadCursor));
        assert_eq!(cursor.position::<u64>("jobs", "a.b-c"), Err(BadCursor));
        assert_eq!(cursor.job("jobs", "a.b-c"), Ok(JobId::new(17, 0)));
        let forged = Cursor::new("jobs", "a", LARGEST_ID);
        assert_eq!(forged.job("jobs", "a"), Err(BadCursor));
        for text in ["", "jobs", "jobs~a"] {
            assert_eq!(text.parse::<Cursor>(), Err(BadCursor), "{text:?}");
        }
    }
}
