//! Performs a `PUT`: stores the definition and opens the bucket.

use dripfeed_auth::Caller;
use dripfeed_bucket::{
    Bucket, BucketPlace, Definition, LeftBehind, NewDefinition, Opened, PutDefinition, note_places, place_is_taken,
};
use dripfeed_job::BucketName;
use serde_json::Value;

use super::definitions::{Definitions, PreparedDefinition};
use super::deletion;
use super::precondition::check;
use crate::intake::Intake;
use crate::problem::{Code, Problem};
use crate::request::preconditions::Preconditions;

/// How often a change is tried again that meets another one.
pub(super) const TRIES: usize = 10;

/// What was sent, and by whom.
pub(super) struct Wanted<'w> {
    pub(super) name: &'w BucketName,
    pub(super) document: &'w Value,
    pub(super) caller: &'w Caller,
    pub(super) preconditions: &'w Preconditions,
}

impl Wanted<'_> {
    /// The definition before, the one that was stored, which another request may have changed since, and the bucket.
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
                Opened::Open => return Ok((before, after, bucket)),
                // A later definition keeps it from being deleted, or comes after that.
                Opened::Suspended => stored = Some((before, after.version)),
                // Who deleted it was stopped before the end: that comes first.
                Opened::Closed => {
                    bucket.close().await?;
                    current.delete(intake.redis().store()).await?;
                }
                // Another one was created meanwhile.
                Opened::Gone => {}
            }
        }
        Err(contended())
    }

    /// The definition before, and the one that is stored now. `stored`: the definition before and the version of this
    /// very change, which is stored again.
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
                && let Some(left) = place_is_taken(store, self.name).await?
            {
                return Err(not_empty(left));
            }
            // Before anybody can submit to it: its jobs are stranded, should nobody serve it.
            note_places(store, &[BucketPlace::from(&prepared.settings)]).await?;
            let new = NewDefinition {
                bucket: self.name,
                known: known.as_ref().map(|known| known.version),
                capacity_bytes: prepared.settings.capacity_bytes,
                by: self.caller.id(),
                definition: &prepared.definition,
                sealed: prepared.sealed.as_deref(),
            };
            match new.put(store, definitions.bounds()).await? {
                PutDefinition::Done { version, incarnation } => {
                    let before = again.map(|(before, _)| before.clone());
                    let before = before.unwrap_or_else(|| known.map(|known| Definition::clone(&known)));
                    let PreparedDefinition { definition, sealed, .. } = prepared;
                    let (bucket, by) = (self.name.clone(), self.caller.id().map(str::to_owned));
                    return Ok((before, Definition { bucket, version, incarnation, by, definition, sealed }));
                }
                PutDefinition::Changed => {}
                PutDefinition::Deleting => self.end_deletion(intake, definitions, known.as_deref()).await?,
                full => return Err(too_many(full)),
            }
        }
        Err(contended())
    }

    /// Of who was stopped in the middle of it, or is on its way.
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
            // Its jobs would be at another place.
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

/// Each time there was another change.
pub(super) fn contended() -> Problem {
    Problem::new(Code::StoreUnavailable, "the definition is being changed by another request; retry later")
}

fn not_empty(left: LeftBehind) -> Problem {
    let detail = match left {
        LeftBehind::Jobs => {
            "an earlier bucket of this name still has jobs or dead letters; drain the jobs, and configure it again to \
                replay or delete the dead letters, or use another name"
        }
        LeftBehind::Schedules => {
            "an earlier bucket of this name still has schedules; configure it again and delete them, or use another \
                name"
        }
        LeftBehind::OutcomeJobs => {
            "an earlier bucket of this name still has outcome jobs for other buckets; configure it again until they \
                are submitted, or use another name"
        }
        LeftBehind::IdempotencyKeys => {
            "an earlier bucket of this name still has idempotency keys, and would accept the same jobs a second time; \
                configure it again until they have expired (keep.idempotency_keys), or use another name"
        }
    };
    Problem::new(Code::BucketNotEmpty, detail)
}

fn too_many(full: PutDefinition) -> Problem {
    let detail = match full {
        PutDefinition::ManyBuckets => "the number of buckets is at its maximum (define.most); delete some first",
        PutDefinition::ManyBytes => "the sum of capacity_bytes of all created buckets would exceed define.bytes",
        PutDefinition::ManyDeleted => {
            "too many buckets were deleted within the last 24 hours; use the name of one of them, or retry later"
        }
        _ => "the definitions together would be too large",
    };
    Problem::new(Code::ManyBuckets, detail)
}
