//! Lists jobs by state, caller and age: jobs in the bucket, oldest first; ended jobs, in the order of their ends.

use std::collections::BTreeMap;

use dripfeed_job::{JobId, JobState};

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::inspect::find::JobView;
use crate::inspect::job_filter::{JobFilter, TimeWindow};
use crate::inspect::pagination::{CALLS, Cursor, PAGE_BYTES, Page};
use crate::kind::list::ListScan;
use crate::script::redis_bucket::{RedisBucket, WaitFor};
use crate::script::scripts::Scripts;
use crate::settings::Kind;

static SCRIPTS: Scripts =
    Scripts::of_kinds("list", include_str!("../kind/stream/list.lua"), include_str!("../kind/list/list.lua"));

const LIST: &str = "jobs";

impl Bucket {
    /// Lists matching jobs; without a state, all jobs in the bucket. A page ends early after the bytes that one script
    /// may read, or after many jobs that don't match: so it may be empty without being the last one. For each page a
    /// list bucket is scanned completely.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a cursor of another list.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobView>, BucketError> {
        if let Some(JobState::Ended(ending)) = filter.state {
            let page = self.ended_jobs(TimeWindow::default(), Some(ending), filter, after, limit).await?;
            return Ok(Page { items: page.items.into_iter().map(JobView::from).collect(), next: page.next });
        }
        let after = after
            .map(|cursor| cursor.job(LIST, self.redis_bucket.settings().name.as_str()))
            .transpose()?
            .max(filter.after());
        match self.redis_bucket.kind {
            Kind::Stream => self.redis_bucket.jobs_of_stream(filter, after, limit).await,
            Kind::List => self.redis_bucket.jobs_of_lists(filter, after, limit).await,
        }
    }
}

impl RedisBucket {
    async fn jobs_of_stream(
        &self,
        filter: &JobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Page<JobView>, BucketError> {
        let keys = &self.keys;
        let mut last = after.map_or_else(String::new, |id| id.to_string());
        let (mut items, mut bytes) = (Vec::new(), 0);
        for _ in 0..CALLS {
            let mut call = SCRIPTS.of(Kind::Stream).on(&[keys.jobs(), keys.parked(), keys.attempts(), keys.ranges()]);
            call.arg(&last).arg(limit - items.len()).arg(filter.state.map_or("", JobState::as_str)).arg(bytes);
            call.arg(filter.caller_arg()).arg(filter.age_arg()).arg(filter.accepted.until_arg());
            let (read, mut reply) = self.read("list", &call, WaitFor::Reply).await?;
            bytes += read;
            last = reply.text()?;
            while !reply.is_empty() {
                items.push(JobView::read(&mut reply.array()?)?);
            }
            if last.is_empty() || items.len() >= limit || bytes >= PAGE_BYTES {
                break;
            }
        }
        Ok(Page { items, next: (!last.is_empty()).then(|| self.jobs_cursor(&last)) })
    }

    /// The first `limit` jobs after the id `after`, in the order of their ids. The lists have another order.
    async fn jobs_of_lists(
        &self,
        filter: &JobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Page<JobView>, BucketError> {
        let mut scans = Vec::new();
        if filter.allows(JobState::Waiting) {
            scans.push(ListScan::of_jobs(&self.keys));
        }
        if filter.allows(JobState::InFlight) {
            scans.extend(self.taken_lists().await?);
        }
        let after = after.map_or_else(String::new, |id| id.to_string());
        let (caller, age, until) = (filter.caller_arg(), filter.age_arg(), filter.accepted.until_arg());
        let mut first = BTreeMap::new();
        let mut more = false;
        for mut scan in scans {
            loop {
                let bound = first.last_key_value().filter(|_| first.len() == limit);
                let bound = bound.map_or_else(String::new, |(id, _): (&JobId, &JobView)| id.to_string());
                let Some(mut reply) = scan.next(self, &SCRIPTS, &[&after, &bound, caller, &age, &until]).await? else {
                    break;
                };
                while !reply.is_empty() {
                    let job = JobView::read(&mut reply.array()?)?;
                    first.insert(job.id, job);
                    if first.len() > limit {
                        first.pop_last();
                        more = true;
                    }
                }
            }
        }
        let next = first.last_key_value().filter(|_| more).map(|(last, _)| self.jobs_cursor(last));
        Ok(Page { items: first.into_values().collect(), next })
    }

    fn jobs_cursor(&self, last: impl std::fmt::Display) -> Cursor {
        Cursor::new(LIST, self.settings().name.as_str(), last)
    }
}
