//! Checks each dead letter, its index entry and its size.

use std::collections::{BTreeSet, HashMap, HashSet};

use dripfeed_store::Script;
use redis::Value;

use super::finding::{FindingKind, Findings};
use super::jobs::JobCheck;
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static BURIED: Script = Script::new("check_dead_letters", SHARED, include_str!("check_dead_letters.lua"));
static INDEXED: Script = Script::new("check_letter_index", SHARED, include_str!("check_letter_index.lua"));
static SIZED: Script = Script::new("check_letter_sizes", SHARED, include_str!("check_letter_sizes.lua"));

/// The number of sizes in one page.
const SIZES: isize = 500;

impl RedisBucket {
    pub(super) async fn examine_letters(&self, repair: bool, findings: &mut Findings) -> Result<(), BucketError> {
        let letters: HashSet<String> = self.examine_buried(repair, findings).await?.into_keys().collect();
        let keys = [self.keys.dead(), self.keys.letters()];
        let check = JobCheck { name: "check_letter_index", script: &INDEXED, keys: &keys, arguments: &[], repair };
        let (mut cursor, mut wrong) = (0, BTreeSet::new());
        loop {
            let (next, index) = self.scan(&self.keys.letters(), cursor).await?;
            // The letters that were just read exist. Only the others are checked.
            let unseen = index.into_iter().filter(|(_, letter)| !letters.contains(letter));
            let ids: Vec<String> = unseen.map(|(id, _)| id).collect();
            wrong.extend(self.examine_each(&check, &ids).await?);
            if next == 0 {
                break;
            }
            cursor = next;
        }
        wrong.extend(self.examine_sizes(&letters, repair).await?);
        wrong.into_iter().for_each(|id| findings.one(FindingKind::IndexOfNoLetter, id));
        Ok(())
    }

    /// Returns the sizes of missing letters. `letters`: the ids that were just read, which aren't checked again.
    async fn examine_sizes(&self, letters: &HashSet<String>, repair: bool) -> Result<Vec<String>, BucketError> {
        let keys = [self.keys.dead(), self.keys.letter_sizes()];
        let check = JobCheck { name: "check_letter_sizes", script: &SIZED, keys: &keys, arguments: &[], repair };
        let is_known = |member: &str| member.split(' ').next().is_some_and(|letter| letters.contains(letter));
        let (mut unseen, mut first) = (Vec::new(), 0);
        loop {
            let mut range = redis::cmd("ZRANGE");
            range.arg(self.keys.letter_sizes()).arg(first).arg(first + SIZES - 1);
            let page: Vec<Vec<u8>> = self.store.command(&range).await?;
            if page.is_empty() {
                break;
            }
            let members = page.iter().map(|member| String::from_utf8_lossy(member).into_owned());
            unseen.extend(members.filter(|member| !is_known(member)));
            first += SIZES;
        }
        self.examine_each(&check, &unseen).await
    }

    /// Checks all letters. Returns their ids and sizes in bytes.
    pub(super) async fn examine_buried(
        &self,
        repair: bool,
        findings: &mut Findings,
    ) -> Result<HashMap<String, u64>, BucketError> {
        let (mut letters, mut from) = (HashMap::new(), "-".to_owned());
        loop {
            let mut call = BURIED.on(&[self.keys.dead(), self.keys.letters(), self.keys.letter_sizes()]);
            call.arg(&from).arg(u8::from(repair));
            let mut reply = Reply::new("check_dead_letters", self.store.run::<Value>(&call).await?)?;
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
