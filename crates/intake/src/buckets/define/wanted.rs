//! Performs a `PUT`: stores the definition and opens the bucket.

use dripfeed_auth::Caller;
use dripfeed_bucket::{
    Bucket, BucketPlace, Definition, LeftoverData, NewDefinition, OpenResult, PutDefinitionResult, leftover_data,
    register_places,
};
use dripfeed_job::BucketName;
use serde_json::Value;

use super::definitions::{Definitions, PreparedDefinition};
use super::deletion;
use super::precondition::check;
use crate::intake::Intake;
use crate::problem::{Code, Problem};
use crate::request::preconditions::Preconditions;

/// How often to try a change that conflicts with another one.
pub(super) const TRIES: usize = 10;

/// The definition to store, and its caller.
pub(super) struct Wanted<'w> {
    pub(super) name: &'w BucketName,
    pub(super) document: &'w Value,
    pub(super) caller: &'w Caller,
    pub(super) preconditions: &'w Preconditions,
}

impl Wanted<'_> {
    /// Stores the definition and opens the bucket. Returns the definition before, the stored one, which another request
    /// may have changed since, and the bucket.
    pub(super) async fn define(
        &self,
        intake: &Intake,
        definitions: &dyn Definitions,
    ) -> Result<(Option<Definition>, Definition, Bucket), Problem> {
        let name = self.name.as_str();
        let mut stored = None;
        for _ in 0..TRIES {
            let (before, after) = self.store(intake, definitions, stored.take()).await?;
            definitions.follow().await?;
            let (Some(current), Some(bucket)) = (definitions.get(name), intake.buckets().get(name)) else { continue };
            match bucket.open(current.version).await? {
                OpenResult::Open => return Ok((before, after, bucket)),
                // Stored again: a newer definition prevents the deletion that suspended the bucket, or follows it.
                OpenResult::Suspended => stored = Some((before, after.version)),
                // A process stopped in the middle of a deletion, which is completed first.
                OpenResult::Closed => {
                    bucket.close().await?;
                    current.delete(intake.redis().store()).await?;
                }
                // Another incarnation was created meanwhile.
                OpenResult::Gone => {}
            }
        }
        Err(contended())
    }

    /// Stores the definition. Returns the one before, and the stored one. `stored`: if this request has stored it
    /// before, the definition before that and the stored version.
    async fn store(
        &self,
        intake: &Intake,
        definitions: &dyn Definitions,
        stored: Option<(Option<Definition>, u64)>,
    ) -> Result<(Option<Definition>, Definition), Problem> {
        let store = intake.redis().store();
        for _ in 0..TRIES {
            definitions.follow().await?;
            let known = definitions.get(self.name.as_str());
            let again = stored.as_ref().filter(|(_, version)| known.as_ref().is_some_and(|it| it.version == *version));
            if again.is_none() {
                let bucket = intake.buckets().get(self.name.as_str());
                check(self.preconditions, known.as_deref().map(|known| (known, bucket.as_ref()))).await?;
            }
            let prepared = self.prepare(definitions, known.as_deref()).await?;
            if known.is_none()
                && let Some(left) = leftover_data(store, self.name).await?
            {
                return Err(not_empty(left));
            }
            // Before jobs can be submitted, so that they are found as stranded if no process serves the bucket.
            register_places(store, &[BucketPlace::from(&prepared.settings)]).await?;
            let new = NewDefinition {
                bucket: self.name,
                known: known.as_ref().map(|known| known.version),
                capacity_bytes: prepared.settings.capacity_bytes,
                by: self.caller.id(),
                definition: &prepared.definition,
                sealed: prepared.sealed.as_deref(),
            };
            match new.put(store, definitions.bounds()).await? {
                PutDefinitionResult::Done { version, incarnation } => {
                    let before = again.map(|(before, _)| before.clone());
                    let before = before.unwrap_or_else(|| known.map(|known| Definition::clone(&known)));
                    let PreparedDefinition { definition, sealed, .. } = prepared;
                    let (bucket, by) = (self.name.clone(), self.caller.id().map(str::to_owned));
                    return Ok((before, Definition { bucket, version, incarnation, by, definition, sealed }));
                }
                PutDefinitionResult::Changed => {}
                PutDefinitionResult::Deleting => self.end_deletion(intake, definitions, known.as_deref()).await?,
                full => return Err(too_many(full)),
            }
        }
        Err(contended())
    }

    /// Completes a deletion that another request has begun.
    async fn end_deletion(
        &self,
        intake: &Intake,
        definitions: &dyn Definitions,
        known: Option<&Definition>,
    ) -> Result<(), Problem> {
        let Some(known) = known else { return Ok(()) };
        match intake.bucket_to_delete(definitions, known) {
            Some(bucket) => deletion::end_begun(intake, &bucket, self.caller, known).await,
            None => Ok(()),
        }
    }

    async fn prepare(
        &self,
        definitions: &dyn Definitions,
        known: Option<&Definition>,
    ) -> Result<PreparedDefinition, Problem> {
        let prepared = definitions.prepare(self.name, self.document, known).map_err(Problem::definition)?;
        if let Some(known) = known {
            // Jobs of another kind are at another place in Redis.
            let before = definitions.place(known).map(|before| before.kind);
            if let Some(kind) = before.filter(|kind| *kind != prepared.settings.kind) {
                let detail = format!("kind: can't be changed from {}; delete the bucket first", kind.as_str());
                return Err(Problem::bad_member("kind", &detail));
            }
        }
        if definitions.has_private_address(self.name, &prepared.definition).await {
            let detail = "upstream: the host has a private address; use a public one";
            return Err(Problem::bad_member("upstream", detail));
        }
        Ok(prepared)
    }
}

/// The problem after `TRIES` conflicts.
pub(super) fn contended() -> Problem {
    Problem::new(Code::StoreUnavailable, "the definition is being changed by another request; retry later")
}

fn not_empty(left: LeftoverData) -> Problem {
    let detail = match left {
        LeftoverData::Jobs => {
            "an earlier bucket of this name still has jobs or dead letters; drain the jobs, and configure it again to \
                replay or delete the dead letters, or use another name"
        }
        LeftoverData::Schedules => {
            "an earlier bucket of this name still has schedules; configure it again and delete them, or use another \
                name"
        }
        LeftoverData::OutcomeJobs => {
            "an earlier bucket of this name still has outcome jobs for other buckets; configure it again until they \
                are submitted, or use another name"
        }
        LeftoverData::IdempotencyKeys => {
            "an earlier bucket of this name still has idempotency keys, and would accept the same jobs a second time; \
                configure it again until they have expired (keep.idempotency_keys), or use another name"
        }
    };
    Problem::new(Code::BucketNotEmpty, detail)
}

fn too_many(full: PutDefinitionResult) -> Problem {
    let detail = match full {
        PutDefinitionResult::ManyBuckets => "the number of buckets is at its maximum (define.most); delete some first",
        PutDefinitionResult::ManyBytes => "the sum of capacity_bytes of all created buckets would exceed define.bytes",
        PutDefinitionResult::ManyDeleted => {
            "too many buckets were deleted within the last 24 hours; use the name of one of them, or retry later"
        }
        _ => "the definitions together would be too large",
    };
    Problem::new(Code::ManyBuckets, detail)
}
