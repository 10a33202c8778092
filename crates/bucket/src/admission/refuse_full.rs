//! Refuses submissions to a full bucket by their sizes alone, so that Redis isn't sent their bodies in vain.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dripfeed_store::Call;
use redis::Value;

use crate::admission::admission_request::AdmissionRequest;
use crate::admission::job_words::size_of;
use crate::admission::{Admission, AdmissionDecision, RefusalReason, Refused};
use crate::error::BucketError;
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket};
use crate::script::reply::Reply;
use crate::script::scripts::PlannedScripts;

static SCRIPTS: PlannedScripts = PlannedScripts::new("refuse_full", include_str!("refuse_full.lua"));

impl RedisBucket {
    /// Called before admit. Does something only if the bucket was too full for all jobs of the batch before. Returns
    /// `None`, having changed nothing, if admit has to decide.
    pub(super) async fn refuse_full(&self, requests: &[AdmissionRequest]) -> Option<Vec<AdmissionDecision>> {
        if !self.was_full.load(Ordering::Relaxed) {
            return None;
        }
        let effective = self.effective_settings();
        let is_by_room = effective.is_judged_by_room() && requests.iter().all(|request| !request.has_key_or_tick());
        if !is_by_room {
            return None;
        }
        // An error isn't reported: admit tries next, and reports its own.
        let refused = self.refuse_by_sizes(&effective, requests).await.ok().flatten();
        self.was_full.store(refused.is_some(), Ordering::Relaxed);
        refused
    }

    pub(super) fn note_full(&self, judged: &[AdmissionDecision]) {
        self.was_full.store(judged.iter().all(AdmissionDecision::is_full), Ordering::Relaxed);
    }

    async fn refuse_by_sizes(
        &self,
        effective: &EffectiveSettings,
        requests: &[AdmissionRequest],
    ) -> Result<Option<Vec<AdmissionDecision>>, BucketError> {
        self.look_at_clock(effective).await;
        let reply = self.store.run::<Value>(&self.refuse_full_call(effective, requests)).await?;
        let Some(mut reply) = self.learn_overrides(Reply::new("refuse_full", reply)?)? else { return Ok(None) };
        match &*reply.text()? {
            "full" => {}
            "undecided" => return Ok(None),
            word => return reply.unknown(word),
        }
        let (level, capacity) = (reply.count()?, effective.settings.capacity);
        let mut wait = Duration::from_millis(reply.count()?);
        let mut judged = Vec::with_capacity(requests.len());
        for _ in requests {
            let refused = Refused { reason: RefusalReason::BucketFull, retry_after: Some(wait), level, capacity };
            judged.push(AdmissionDecision { admission: Admission::Refused(refused), limits: None, caller_share: None });
            if !reply.is_empty() {
                wait = Duration::from_millis(reply.count()?);
            }
        }
        Ok(Some(judged))
    }

    fn refuse_full_call(&self, effective: &EffectiveSettings, requests: &[AdmissionRequest]) -> Call<'static> {
        let keys = vec![self.keys.jobs(), self.keys.pace(), self.keys.meter(), self.keys.tally(), self.keys.control()];
        let (keys, paced) = self.pack_pace(effective, keys);
        let mut call = SCRIPTS.of(self.kind, !paced.is_empty()).on(&self.keys.and_level(keys));
        call.arg(&effective.version).arg(effective.settings.capacity).arg(effective.settings.capacity_bytes);
        call.arg(paced);
        for request in requests {
            call.arg(size_of(self.kind, &request.submission));
        }
        call
    }
}

impl AdmissionDecision {
    fn is_full(&self) -> bool {
        matches!(self.admission, Admission::Refused(Refused { reason: RefusalReason::BucketFull, .. }))
    }
}
