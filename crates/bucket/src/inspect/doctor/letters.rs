//! Each dead letter, and its index by job.

use std::collections::{BTreeSet, HashMap, HashSet};

use dripfeed_store::Script;
use redis::Value;

use super::finding::{FindingKind, Findings};
use super::jobs::JobCheck;
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static BURIED: Script = Script::new("buried", SHARED, include_str!("buried.lua"));
static INDEXED: Script = Script::new("indexed", SHARED, include_str!("indexed.lua"));

impl RedisBucket {
    pub(super) async fn examine_letters(&self, repair: bool, findings: &mut Findings) -> Result<(), BucketError> {
        let letters: HashSet<String> = self.examine_buried(repair, findings).await?.into_keys().collect();
        let keys = [self.keys.dead(), self.keys.letters()];
        let check = JobCheck { name: "indexed", script: &INDEXED, keys: &keys, arguments: &[], repair };
        let (mut cursor, mut wrong) = (0, BTreeSet::new());
        loop {
            let (next, index) = self.scan(&self.keys.letters(), cursor).await?;
            // The others were there a moment ago.
            let unseen = index.into_iter().filter(|(_, letter)| !letters.contains(letter));
            let ids: Vec<String> = unseen.map(|(id, _)| id).collect();
            wrong.extend(self.examine_each(&check, &ids).await?);
            if next == 0 {
                break;
            }
            cursor = next;
        }
        wrong.into_iter().for_each(|id| findings.one(FindingKind::IndexOfNoLetter, id));
        Ok(())
    }

    /// The letters, and the bytes of each.
    pub(super) async fn examine_buried(
        &self,
        repair: bool,
        findings: &mut Findings,
    ) -> Result<HashMap<String, u64>, BucketError> {
        let (mut letters, mut from) = (HashMap::new(), "-".to_owned());
        loop {
            let mut call = BURIED.on(&[self.keys.dead(), self.keys.letters()]);
            call.arg(&from).arg(u8::from(repair));
            let mut reply = Reply::new("buried", self.store.run::<Value>(&call).await?)?;
            let last = reply.text()?;
            while !reply.is_empty() {
                let mut letter = reply.array()?;
                let (id, job, unindexed) = (letter.text()?, letter.shown()?, !letter.text()?.is_empty());
                letters.insert(id, letter.count()?);
                if unindexed {
                    findings.one(FindingKind::LetterNotIndexed, job);
                }
            }
            if last.is_empty() {
                return Ok(letters);
            }
            from = format!("({last}");
        }
    }
}
