//! A submission with the limits that apply to it.

use std::net::IpAddr;
use std::sync::Arc;

use dripfeed_job::Submission;
use dripfeed_job::duration::ms_up;
use dripfeed_job::path::UpstreamPath;
use dripfeed_limit::{KeyIndex, Plan, Request};
use http::{HeaderMap, Method};
use serde_json::Value as Json;

use crate::admission::parsing::parse;
use crate::admission::tick::Tick;
use crate::error::BucketError;
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket};

/// The attributes of a request that limits may use, in addition to the submission.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The client's address. All requests from unknown addresses share one counter.
    pub address: Option<IpAddr>,
}

pub(crate) struct AdmissionRequest {
    /// Boxed, because requests are moved between queues.
    pub(crate) submission: Box<Submission>,
    /// The tick of the schedule that submits the job.
    pub(crate) tick: Option<Box<Tick>>,
    terms: Terms,
}

/// The terms of an admission, apart from the room in the bucket.
enum Terms {
    /// The limits by the settings at the time of the request. Without a plan no limit applies.
    Limits { origin: Arc<Origin>, settings: Arc<EffectiveSettings>, plan: Option<Arc<Plan>> },
    /// No limits, as for an outcome job, which was charged to the bucket that accepted its first job. It keeps its
    /// deadline, in ms since the epoch, even if the eta is later.
    Accepted { deadline_ms: Option<u64> },
}

impl AdmissionRequest {
    /// A request for a job that another bucket has accepted.
    pub(crate) fn accepted(submission: Submission, deadline_ms: Option<u64>) -> Self {
        Self { submission: Box::new(submission), tick: None, terms: Terms::Accepted { deadline_ms } }
    }

    /// Whether admit checks more than the room in the bucket: the job may exist, or its tick be over.
    pub(crate) fn has_key_or_tick(&self) -> bool {
        self.submission.idempotency_key.is_some() || self.tick.is_some()
    }

    /// The number of tiers of its limits.
    pub(crate) fn tiers(&self) -> usize {
        match &self.terms {
            Terms::Limits { plan: Some(plan), .. } => plan.policies().map(|policy| policy.tiers().len()).sum(),
            Terms::Limits { plan: None, .. } | Terms::Accepted { .. } => 0,
        }
    }

    /// The option `@expires` of admit.lua, empty without a deadline.
    pub(crate) fn deadline(&self) -> String {
        match self.terms {
            Terms::Accepted { deadline_ms } => deadline_ms.map(|ms| format!("@{ms}")).unwrap_or_default(),
            Terms::Limits { .. } => {
                self.submission.expires_in.map(|lifetime| ms_up(lifetime).to_string()).unwrap_or_default()
            }
        }
    }
}

/// The plans of limits of a batch, all by the same settings. A submission without limits has none.
pub(crate) struct BatchPlan {
    settings: Arc<EffectiveSettings>,
    pub(crate) plans: Vec<Option<Arc<Plan>>>,
}

impl BatchPlan {
    pub(crate) fn is_by(&self, settings: &Arc<EffectiveSettings>) -> bool {
        Arc::ptr_eq(&self.settings, settings)
    }

    /// Appends the keys of the limits' states to `keys`. Returns also the policies and plans as scripts read them; the
    /// plan of a job without limits is empty. `now_us`: of the Redis clock.
    pub(crate) fn pack(&self, keys: Vec<String>, now_us: u64) -> (Vec<String>, Vec<u8>, Vec<Vec<u8>>) {
        if self.plans.iter().all(Option::is_none) {
            return (keys, Vec::new(), vec![Vec::new(); self.plans.len()]);
        }
        let mut index = KeyIndex::after(keys).with_policies();
        let pack =
            |plan: &Option<Arc<Plan>>| plan.as_ref().map(|plan| plan.pack(&mut index, now_us)).unwrap_or_default();
        let packed = self.plans.iter().map(pack).collect();
        let (keys, policies) = index.into_keys_and_policies();
        (keys, policies, packed)
    }
}

impl RedisBucket {
    pub(crate) async fn admission_request(
        &self,
        submission: Box<Submission>,
        origin: Arc<Origin>,
    ) -> Result<AdmissionRequest, BucketError> {
        let settings = self.effective_settings();
        let plan = self.plan(&settings, &submission, &origin).await?;
        Ok(AdmissionRequest { submission, tick: None, terms: Terms::Limits { origin, settings, plan } })
    }

    /// Makes the plans of a batch. If the settings haven't changed since the request, its plan is used.
    pub(crate) async fn plan_all(
        &self,
        requests: &[AdmissionRequest],
        settings: &Arc<EffectiveSettings>,
    ) -> Result<BatchPlan, BucketError> {
        let mut plans = Vec::with_capacity(requests.len());
        for AdmissionRequest { submission, terms, .. } in requests {
            plans.push(match terms {
                Terms::Limits { settings: before, plan, .. } if Arc::ptr_eq(before, settings) => plan.clone(),
                Terms::Limits { origin, .. } => self.plan(settings, submission, origin).await?,
                Terms::Accepted { .. } => None,
            });
        }
        Ok(BatchPlan { settings: Arc::clone(settings), plans })
    }

    async fn plan(
        &self,
        settings: &EffectiveSettings,
        submission: &Submission,
        origin: &Origin,
    ) -> Result<Option<Arc<Plan>>, BucketError> {
        if !settings.has_limits {
            return Ok(None);
        }
        let policies = settings.limits.policies();
        let body = if policies.need_bodies() { Box::pin(parsed_body(submission)).await? } else { None };
        let request = Request {
            // The default method of the bucket isn't visible to its callers, so limits don't use it.
            method: submission.method.as_ref().unwrap_or(&Method::POST).as_str(),
            path: submission.path.as_ref().map_or("/", UpstreamPath::as_str),
            headers: Some(&origin.headers),
            caller: submission.caller.as_deref(),
            ip: origin.address,
            body: body.as_ref(),
            ..Request::default()
        };
        let plan = Plan::new(policies, &self.scopes, &request);
        Ok((!plan.is_empty()).then(|| Arc::new(plan)))
    }
}

/// Returns `None` if the body isn't JSON.
async fn parsed_body(submission: &Submission) -> Result<Option<Json>, BucketError> {
    // The many small bodies of a batch are as much work as a large one.
    tokio::task::consume_budget().await;
    let body = submission.body.clone();
    parse(body.len(), move || serde_json::from_slice(&body).ok()).await
}
