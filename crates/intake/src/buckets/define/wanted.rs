//! Carries out a `PUT`: the definition is stored, and the bucket is open for everybody.

use dripfeed_bucket::{Bucket, Definition, NewDefinition, Opened, PutDefinition, place_is_taken};
use dripfeed_job::BucketName;
use serde_json::Value;

use super::definitions::{Definitions, PreparedDefinition};
use super::version;
use crate::intake::Intake;
use crate::problem::{Code, Problem};
use crate::request::if_match::IfMatch;

/// How often a change is tried again that meets another one.
const TRIES: usize = 10;

/// What was sent, and by whom.
pub(super) struct Wanted<'w> {
    pub(super) name: &'w BucketName,
    pub(super) document: &'w Value,
    pub(super) by: Option<&'w str>,
    pub(super) if_match: &'w IfMatch,
}

impl Wanted<'_> {
    /// The definition before, the one that was stored, and the bucket.
    pub(super) async fn define(
        &self,
        intake: &Intake,
        definitions: &dyn Definitions,
    ) -> Result<(Option<Definition>, Definition, Bucket), Problem> {
        let name = self.name.as_str();
        for _ in 0..TRIES {
            let before = self.store(intake, definitions).await?;
            definitions.follow().await?;
            let (Some(after), Some(bucket)) = (definitions.get(name), intake.buckets().get(name)) else { continue };
            match bucket.open().await? {
                Opened::Open => return Ok((before, Definition::clone(&after), bucket)),
                // Who deleted it was stopped before the end: that comes first.
                Opened::Closed => drop(after.delete(intake.redis().store()).await?),
                // Another one was created meanwhile.
                Opened::Gone => {}
            }
        }
        Err(contended())
    }

    /// The definition before.
    async fn store(&self, intake: &Intake, definitions: &dyn Definitions) -> Result<Option<Definition>, Problem> {
        let store = intake.redis().store();
        for _ in 0..TRIES {
            definitions.follow().await?;
            let known = definitions.get(self.name.as_str());
            version::check(self.if_match, known.as_deref())?;
            let prepared = self.prepare(definitions, known.as_deref()).await?;
            if known.is_none() && place_is_taken(store, self.name).await? {
                return Err(not_empty());
            }
            let new = NewDefinition {
                bucket: self.name,
                known: known.as_ref().map(|known| known.version),
                capacity_bytes: prepared.settings.capacity_bytes,
                by: self.by,
                definition: &prepared.definition,
                sealed: prepared.sealed.as_deref(),
            };
            match new.put(store, definitions.bounds()).await? {
                PutDefinition::Done { .. } => return Ok(known.map(|known| Definition::clone(&known))),
                PutDefinition::Changed => {}
                full => return Err(too_many(full)),
            }
        }
        Err(contended())
    }

    async fn prepare(
        &self,
        definitions: &dyn Definitions,
        known: Option<&Definition>,
    ) -> Result<PreparedDefinition, Problem> {
        let prepared = definitions.prepare(self.name, self.document, known).map_err(Problem::definition)?;
        if let Some(known) = known {
            // Its jobs would be at another place.
            let before = definitions.prepare(self.name, &known.definition, None).map(|before| before.settings.kind);
            if let Some(kind) = before.ok().filter(|kind| *kind != prepared.settings.kind) {
                let detail = format!("kind: the bucket is a {}: delete it first", kind.as_str());
                return Err(Problem::bad_member("kind", &detail));
            }
        }
        if definitions.has_private_address(self.name, &prepared.definition).await {
            let detail = "upstream: the host has a private address: use a public one";
            return Err(Problem::bad_member("upstream", detail));
        }
        Ok(prepared)
    }
}

/// Each time there was another change.
fn contended() -> Problem {
    Problem::new(Code::StoreUnavailable, "the definition changes all the time; retry later")
}

fn not_empty() -> Problem {
    let detail = "jobs or dead letters of an earlier bucket of this name are there: drain it, or use another name";
    Problem::new(Code::BucketNotEmpty, detail)
}

fn too_many(full: PutDefinition) -> Problem {
    let detail = match full {
        PutDefinition::ManyBuckets => "define.most buckets are defined: delete some first",
        PutDefinition::ManyBytes => "the capacity_bytes of all defined buckets would exceed define.bytes",
        _ => "all definitions together are too long",
    };
    Problem::new(Code::ManyBuckets, detail)
}
