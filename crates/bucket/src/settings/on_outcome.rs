//! The targets of outcome jobs, and the size of the outbox.

use dripfeed_job::chain::NO_TARGET;
use dripfeed_job::{BucketName, Chain, Ending, OutcomeTargets};

use crate::error::BucketError;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnOutcome {
    /// Without duplicates. Empty: no outcome jobs.
    pub targets: Vec<OutcomeTarget>,
    /// Maximum number of outcome jobs in the outbox.
    pub most: u64,
    /// Maximum bytes of the outbox.
    pub bytes: u64,
}

/// A target bucket, and the outcomes for which it gets outcome jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeTarget {
    pub bucket: BucketName,
    /// At least one.
    pub outcomes: Vec<Ending>,
}

impl OnOutcome {
    /// Returns the maximum bytes of an outcome job in the outbox without the answer's body: names, id, caller, reason,
    /// content type. Each is bounded, and JSON may write a byte as six.
    const MOST_BESIDES: u64 = 4 << 10;

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Returns the maximum number of outcome jobs of one job.
    #[must_use]
    pub fn most_of_one(&self) -> u64 {
        let of = |ending: &Ending| self.targets.iter().filter(|target| target.outcomes.contains(ending)).count() as u64;
        Ending::ALL.iter().map(of).max().unwrap_or(0)
    }

    /// Maximum bytes of an outcome job in the outbox, with `answer_bytes` of the answer's body.
    #[must_use]
    pub const fn largest(answer_bytes: u64) -> u64 {
        answer_bytes + Self::MOST_BESIDES
    }

    /// Describes what is wrong, or returns `None` if all is valid. `answer_bytes`: maximum bytes kept of an answer.
    #[must_use]
    pub fn fault(&self, bucket: &BucketName, answer_bytes: u64) -> Option<String> {
        let mut names: Vec<&str> = self.targets.iter().map(|target| target.bucket.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Some(format!("the bucket `{}` is listed twice: list all of its outcomes in one place", pair[0]));
        }
        if names.contains(&NO_TARGET) {
            return Some(format!("`{NO_TARGET}` can't be a target: for a job it means no targets"));
        }
        if names.len() > OutcomeTargets::MOST {
            return Some(format!("{} targets: use at most {}", names.len(), OutcomeTargets::MOST));
        }
        let largest = self.most_of_one() * Self::largest(answer_bytes);
        if self.most < self.most_of_one() || self.bytes < largest {
            return Some(format!(
                "keep.most_outbox and keep.outbox_bytes are too small for the outcome jobs of one job of `{bucket}`: \
                    use at least {} and {largest}B",
                self.most_of_one()
            ));
        }
        None
    }

    /// The text that outcome_jobs.lua reads, which follows that of `Keep`. Empty without targets.
    pub(crate) fn packed(&self, answer_bytes: u64) -> String {
        if self.is_empty() {
            return String::new();
        }
        let (most, bytes) = (self.most, self.bytes);
        let (largest, answer, depth) = (Self::largest(answer_bytes), answer_bytes, Chain::MOST_DEPTH);
        let mut text = format!("\nbounds {most} {bytes} {largest} {answer} {depth}");
        for OutcomeTarget { bucket, outcomes } in &self.targets {
            text.push_str(&format!("\nto {bucket}"));
            outcomes.iter().for_each(|outcome| text.push_str(&format!(" {outcome}")));
        }
        text
    }

    /// Refuses targets chosen by a submission that aren't in `targets`.
    pub(crate) fn refuse_unlisted(&self, chosen: &OutcomeTargets) -> Result<(), BucketError> {
        let is_listed = |name: &BucketName| self.targets.iter().any(|target| target.bucket == *name);
        match chosen.names().iter().find(|name| !is_listed(name)) {
            Some(unknown) => Err(BucketError::OutcomeTarget(unknown.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn to(bucket: &str, outcomes: &[Ending]) -> OutcomeTarget {
        OutcomeTarget { bucket: bucket.parse().unwrap(), outcomes: outcomes.to_vec() }
    }

    #[test]
    fn a_job_makes_as_many_as_one_end_has_targets() {
        let targets = vec![to("a", &[Ending::Dead]), to("b", &[Ending::Delivered, Ending::Dead])];
        let on_outcome = OnOutcome { targets, most: 10, bytes: 1 << 20 };
        assert_eq!((on_outcome.most_of_one(), OnOutcome::default().most_of_one()), (2, 0));
    }

    #[test]
    fn a_choice_that_the_bucket_does_not_list_is_refused() {
        let on_outcome = OnOutcome { targets: vec![to("a", &[Ending::Dead])], most: 10, bytes: 1 << 20 };
        let chosen = |text: &str| text.parse::<OutcomeTargets>().unwrap();
        for text in ["a", "none"] {
            assert!(on_outcome.refuse_unlisted(&chosen(text)).is_ok(), "{text}");
        }
        assert!(on_outcome.refuse_unlisted(&chosen("a,b")).is_err());
        assert!(OnOutcome::default().refuse_unlisted(&chosen("none")).is_ok());
    }
}
