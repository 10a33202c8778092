//! The buckets of a page when it is loaded.

use crate::dashboard::Dashboard;
use crate::model::bucket::{Bucket, ListedBucket, Row, Summary};
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

pub(super) struct Listed {
    pub(super) states: Vec<Bucket>,
    pub(super) unavailable: Vec<String>,
}

impl Listed {
    pub(super) fn count(&self) -> usize {
        self.states.len() + self.unavailable.len()
    }

    pub(super) fn names(&self) -> Vec<&str> {
        let names = self.states.iter().map(|bucket| &bucket.name);
        names.chain(&self.unavailable).map(String::as_str).collect()
    }

    pub(super) fn summary(&self) -> Summary {
        let mut all = Summary { buckets: self.count() as u64, ..Summary::default() };
        for bucket in &self.states {
            all.level += bucket.level;
            all.capacity += bucket.capacity;
            all.dead += bucket.dead;
            all.buckets_with_dead += u64::from(bucket.dead > 0);
            all.paused += u64::from(bucket.paused);
            all.add_rates(bucket);
        }
        all
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        self.states.iter().map(Bucket::row).collect()
    }
}

/// Reads all buckets that the visitor may see.
pub(super) async fn read(page: &Dashboard, visitor: &Visitor) -> Result<Listed, Failure> {
    let mut listed = Listed { states: Vec::new(), unavailable: Vec::new() };
    for item in page.api().list(visitor, "/v1/buckets").await? {
        match item {
            ListedBucket::State(bucket) => listed.states.push(*bucket),
            ListedBucket::Unavailable { name } => listed.unavailable.push(name),
        }
    }
    Ok(listed)
}
