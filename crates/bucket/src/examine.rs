//! Examines the invariants of a bucket in Redis, and mends what is broken.

use std::sync::LazyLock;

use dripfeed_store::Script;
use redis::Value;

use crate::core::Core;
use crate::error::BucketError;
use crate::reply::Reply;
use crate::scripts::{METER, NOW, RECORD, STREAM};
use crate::settings::Kind;

static SCRIPT: LazyLock<Script> =
    LazyLock::new(|| Script::new("examine", &[NOW, METER, RECORD, STREAM.entry, include_str!("examine.lua")]));

/// An invariant that doesn't hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// How many jobs, letters or counters.
    pub count: u64,
    /// The id of one of them, or the figures.
    pub example: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    Stranded,
    Phantom,
    NeverDue,
    HeldByNoMember,
    DueButNotParked,
    AttemptsOfNothing,
    BytesMiscounted,
    HoldersMiscounted,
    LetterNotIndexed,
    IndexOfNoLetter,
    OutcomesNotListed,
    Lost,
}

/// The script's word, what it means, and what mending does (None: nothing can).
type Meaning = (FindingKind, &'static str, &'static str, Option<&'static str>);

const MEANINGS: [Meaning; 12] = [
    (
        FindingKind::Stranded,
        "stranded",
        "jobs that are neither new nor pending: nobody would ever take them",
        Some("parks them, due at once"),
    ),
    (
        FindingKind::Phantom,
        "phantom",
        "pending entries whose job is not in the stream: deleted by hand",
        Some("acknowledges them"),
    ),
    (FindingKind::NeverDue, "never_due", "parked jobs without a due time", Some("makes them due at once")),
    (
        FindingKind::HeldByNoMember,
        "held_by_no_member",
        "jobs held by a consumer that is no member; living replicas take them over within a lease",
        Some("parks them, due at once"),
    ),
    (
        FindingKind::DueButNotParked,
        "due_but_not_parked",
        "due times of jobs that are not parked",
        Some("removes the due times"),
    ),
    (
        FindingKind::AttemptsOfNothing,
        "attempts_of_nothing",
        "attempt counts of jobs that are gone",
        Some("removes them"),
    ),
    (
        FindingKind::BytesMiscounted,
        "bytes_miscounted",
        "the count of bytes held differs from what is in the stream",
        Some("counts anew"),
    ),
    (
        FindingKind::HoldersMiscounted,
        "holders_miscounted",
        "callers whose jobs in the stream are more or less than what is counted for max_share",
        Some("counts anew"),
    ),
    (
        FindingKind::LetterNotIndexed,
        "letter_not_indexed",
        "dead letters that can't be found by id",
        Some("indexes them"),
    ),
    (
        FindingKind::IndexOfNoLetter,
        "index_of_no_letter",
        "index entries of dead letters that are gone",
        Some("removes them"),
    ),
    (FindingKind::OutcomesNotListed, "outcomes_not_listed", "outcomes and their order in time differ in number", None),
    (
        FindingKind::Lost,
        "lost",
        "accepted jobs that are neither in the bucket nor ended: somebody deleted them, or Redis lost its last writes",
        None,
    ),
];

impl FindingKind {
    fn meaning(self) -> Option<&'static Meaning> {
        MEANINGS.iter().find(|meaning| meaning.0 == self)
    }

    /// What is wrong, in words.
    #[must_use]
    pub fn what(self) -> &'static str {
        self.meaning().map_or("", |meaning| meaning.2)
    }

    /// What mending does; None when it can't be mended.
    #[must_use]
    pub fn remedy(self) -> Option<&'static str> {
        self.meaning().and_then(|meaning| meaning.3)
    }
}

impl Core {
    /// What doesn't hold; with `mend`, what didn't and was mended as far as it can be.
    pub(crate) async fn examine(&self, mend: bool) -> Result<Vec<Finding>, BucketError> {
        if self.kind == Kind::List {
            return Err(BucketError::Unsupported("be examined"));
        }
        let keys = &self.keys;
        let mut call = SCRIPT.on(&[
            keys.jobs(),
            keys.parked(),
            keys.tally(),
            keys.replicas(),
            keys.attempts(),
            keys.outcomes(),
            keys.ended(),
            keys.dead(),
            keys.letters(),
            keys.holders(),
        ]);
        call.arg(u8::from(mend));
        let mut reply = Reply::new("examine", self.store.run::<Value>(&call).await?)?;
        let mut findings = Vec::new();
        while !reply.is_empty() {
            let mut finding = reply.array()?;
            let word = finding.text()?;
            let Some((kind, ..)) = MEANINGS.iter().find(|meaning| meaning.1 == word) else {
                return finding.unknown(&word);
            };
            let count = finding.count()?;
            let example = Some(finding.text()?).filter(|example| !example.is_empty());
            findings.push(Finding { kind: *kind, count, example });
        }
        Ok(findings)
    }
}
