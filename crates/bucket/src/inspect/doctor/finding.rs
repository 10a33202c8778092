//! The kinds of findings, and how each is repaired.

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    /// The number of jobs, letters or counters.
    pub count: u64,
    /// The id of one of them, or the numbers.
    pub example: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    WrongType,
    NoIdsForJobs,
    NoIdsForLetters,
    Stranded,
    Phantom,
    NeverDue,
    HeldByNoMember,
    DueButNotParked,
    HeldMiscounted,
    CallsMiscounted,
    AttemptsOfNothing,
    RecordOfNothing,
    IdempotencyKeyOfNothing,
    BytesMiscounted,
    HoldersMiscounted,
    LetterNotIndexed,
    IndexOfNoLetter,
    LetterBytesMiscounted,
    OutcomesNotListed,
    OutcomeBytesMiscounted,
    OutboxBytesMiscounted,
    OutcomeJobOversized,
    Lost,
}

/// A kind, its word in scripts, its description, and what a repair does (`None`: it can't be repaired).
type Meaning = (FindingKind, &'static str, &'static str, Option<&'static str>);

const MEANINGS: [Meaning; 23] = [
    (
        FindingKind::WrongType,
        "wrong_type",
        "keys of another type than dripfeed gives them: what uses them fails until somebody renames or deletes them",
        None,
    ),
    (
        FindingKind::NoIdsForJobs,
        "no_ids_for_jobs",
        "jobs in a stream that takes no others, as somebody added one with the largest possible id: jobs are accepted \
            again once these have ended",
        None,
    ),
    (
        FindingKind::NoIdsForLetters,
        "no_ids_for_letters",
        "dead letters in a stream that takes no others, as somebody added one with the largest possible id: jobs that \
            die wait in the bucket until these are replayed or deleted",
        None,
    ),
    (
        FindingKind::Stranded,
        "stranded",
        "jobs that are neither new, nor pending, nor queued for their caller: no replica would claim them",
        Some("parks them, due immediately"),
    ),
    (
        FindingKind::Phantom,
        "phantom",
        "pending entries whose job is not in the stream: deleted manually",
        Some("acknowledges them"),
    ),
    (
        FindingKind::NeverDue,
        "never_due",
        "parked jobs without a due time",
        Some("sets their due time: now, or the end of their delay"),
    ),
    (
        FindingKind::HeldByNoMember,
        "held_by_no_member",
        "jobs claimed by an unregistered consumer; live replicas recover them within a lease",
        Some("requeues them, due immediately, or at the end of their delay"),
    ),
    (
        FindingKind::DueButNotParked,
        "due_but_not_parked",
        "due times of jobs that are not parked",
        Some("removes the due times"),
    ),
    (
        FindingKind::HeldMiscounted,
        "held_miscounted",
        "replicas of a list bucket whose count of claimed jobs is wrong",
        Some("counts again"),
    ),
    (
        FindingKind::CallsMiscounted,
        "calls_miscounted",
        "calls in flight that aren't counted for their callers, or the reverse",
        Some("counts again"),
    ),
    (FindingKind::AttemptsOfNothing, "attempts_of_nothing", "attempt counts of missing jobs", Some("removes them")),
    (
        FindingKind::RecordOfNothing,
        "record_of_nothing",
        "records of missing jobs that waited for room among the dead letters",
        Some("removes them"),
    ),
    (
        FindingKind::IdempotencyKeyOfNothing,
        "idempotency_key_of_nothing",
        "idempotency keys of jobs that are missing and have no outcome",
        Some("keeps them for their retention time from now on"),
    ),
    (
        FindingKind::BytesMiscounted,
        "bytes_miscounted",
        "the byte count differs from the bytes in the stream",
        Some("counts again"),
    ),
    (
        FindingKind::HoldersMiscounted,
        "holders_miscounted",
        "callers whose job counts for max_share differ from their jobs in the stream",
        Some("counts again"),
    ),
    (
        FindingKind::LetterNotIndexed,
        "letter_not_indexed",
        "dead letters missing from the index by id",
        Some("indexes them"),
    ),
    (FindingKind::IndexOfNoLetter, "index_of_no_letter", "index entries of missing dead letters", Some("removes them")),
    (
        FindingKind::LetterBytesMiscounted,
        "letter_bytes_miscounted",
        "the byte count of the dead letters is wrong",
        Some("counts again"),
    ),
    (
        FindingKind::OutcomesNotListed,
        "outcomes_not_listed",
        "outcomes missing from the list in order of time, which would never expire, or listed without a record",
        Some("adds them to the list, or removes them from it"),
    ),
    (
        FindingKind::OutcomeBytesMiscounted,
        "outcome_bytes_miscounted",
        "the byte count of the outcomes is wrong",
        Some("counts again"),
    ),
    (
        FindingKind::OutboxBytesMiscounted,
        "outbox_bytes_miscounted",
        "the byte count of the outbox is wrong",
        Some("counts again"),
    ),
    (
        FindingKind::OutcomeJobOversized,
        "outcome_job_oversized",
        "outcome jobs larger than the capacity_bytes of their target bucket, which wait until it is raised",
        None,
    ),
    (
        FindingKind::Lost,
        "lost",
        "accepted jobs that are neither in the bucket nor ended: deleted manually, or Redis lost its last writes",
        Some("brings none back: writes them off as lost"),
    ),
];

impl FindingKind {
    /// Returns the kind that has this word in scripts.
    pub(super) fn of(word: &str) -> Option<Self> {
        MEANINGS.iter().find(|meaning| meaning.1 == word).map(|meaning| meaning.0)
    }

    /// Its word in scripts.
    pub(super) fn word(self) -> &'static str {
        self.meaning().map_or("", |meaning| meaning.1)
    }

    fn meaning(self) -> Option<&'static Meaning> {
        MEANINGS.iter().find(|meaning| meaning.0 == self)
    }

    /// Returns a description of the fault.
    #[must_use]
    pub fn what(self) -> &'static str {
        self.meaning().map_or("", |meaning| meaning.2)
    }

    /// Returns how it is repaired, or `None` if it can't be.
    #[must_use]
    pub fn remedy(self) -> Option<&'static str> {
        self.meaning().and_then(|meaning| meaning.3)
    }
}

/// The findings so far, at most one of each kind.
#[derive(Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn one(&mut self, kind: FindingKind, example: impl Into<String>) {
        self.many(kind, 1, example);
    }

    pub(super) fn many(&mut self, kind: FindingKind, count: u64, example: impl Into<String>) {
        if count == 0 {
            return;
        }
        match self.0.iter_mut().find(|finding| finding.kind == kind) {
            Some(finding) => finding.count += count,
            None => {
                let example = Some(example.into()).filter(|example| !example.is_empty());
                self.0.push(Finding { kind, count, example });
            }
        }
    }

    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.0
    }
}
