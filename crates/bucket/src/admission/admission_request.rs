//! A submission, the request that brought it, and the limits that apply to it.

use std::net::IpAddr;
use std::sync::Arc;

use dripfeed_job::Submission;
use dripfeed_job::duration::ms_up;
use dripfeed_job::path::UpstreamPath;
use dripfeed_limit::{Plan, Request};
use http::{HeaderMap, Method};
use serde_json::Value as Json;

use crate::admission::parsing::parse;
use crate::admission::tick::Tick;
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::settings::limits::BucketLimits;

/// The attributes of a request that limits may use, in addition to the submission.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The client's address. None: unknown; all such requests share one counter.
    pub address: Option<IpAddr>,
}

pub(crate) struct AdmissionRequest {
    /// In a box, because it is moved from queue to batch and on.
    pub(crate) submission: Box<Submission>,
    /// What it is for, where a schedule submits it.
    pub(crate) tick: Option<Box<Tick>>,
    terms: Terms,
}

/// What a submission is judged by beside the room there is.
enum Terms {
    /// The limits of that moment.
    Limits { origin: Arc<Origin>, limits: BucketLimits, plan: Arc<Plan> },
    /// None: another bucket has accepted it, and charged it to its own limits. Its deadline stays, whatever the eta is;
    /// ms since the epoch.
    Accepted { deadline_ms: Option<u64> },
}

impl AdmissionRequest {
    /// What another bucket has accepted before.
    pub(crate) fn accepted(submission: Submission, deadline_ms: Option<u64>) -> Self {
        Self { submission: Box::new(submission), tick: None, terms: Terms::Accepted { deadline_ms } }
    }

    /// Whether more than the room is looked at before it is refused: it may be known already, or come too late.
    pub(crate) fn has_key_or_tick(&self) -> bool {
        self.submission.idempotency_key.is_some() || self.tick.is_some()
    }

    /// By the limits of that moment.
    pub(crate) fn tiers(&self) -> usize {
        match &self.terms {
            Terms::Limits { plan, .. } => plan.policies().map(|policy| policy.tiers().len()).sum(),
            Terms::Accepted { .. } => 0,
        }
    }

    /// As admit.lua reads it.
    pub(crate) fn deadline(&self) -> String {
        match self.terms {
            Terms::Accepted { deadline_ms } => deadline_ms.map(|ms| format!("@{ms}")).unwrap_or_default(),
            Terms::Limits { .. } => {
                self.submission.expires_in.map(|lifetime| ms_up(lifetime).to_string()).unwrap_or_default()
            }
        }
    }
}

/// How a batch is judged: a plan for each submission, by the same limits.
pub(crate) struct BatchPlan {
    limits: BucketLimits,
    pub(crate) plans: Vec<Arc<Plan>>,
}

impl BatchPlan {
    pub(crate) fn is_by(&self, limits: &BucketLimits) -> bool {
        self.limits.are(limits)
    }
}

impl RedisBucket {
    pub(crate) async fn admission_request(
        &self,
        submission: Box<Submission>,
        origin: Arc<Origin>,
    ) -> Result<AdmissionRequest, BucketError> {
        let limits = self.effective_settings().limits.clone();
        let plan = Arc::new(self.plan(&limits, &submission, &origin).await?);
        Ok(AdmissionRequest { submission, tick: None, terms: Terms::Limits { origin, limits, plan } })
    }

    /// Where the limits are still those of a request, its plan holds.
    pub(crate) async fn plan_all(
        &self,
        requests: &[AdmissionRequest],
        limits: &BucketLimits,
    ) -> Result<BatchPlan, BucketError> {
        let mut plans = Vec::with_capacity(requests.len());
        for AdmissionRequest { submission, terms, .. } in requests {
            plans.push(match terms {
                Terms::Limits { limits: before, plan, .. } if before.are(limits) => plan.clone(),
                Terms::Limits { origin, .. } => Arc::new(self.plan(limits, submission, origin).await?),
                Terms::Accepted { .. } => {
                    Arc::new(self.plan(&BucketLimits::default(), submission, &Origin::default()).await?)
                }
            });
        }
        Ok(BatchPlan { limits: limits.clone(), plans })
    }

    async fn plan(&self, limits: &BucketLimits, submission: &Submission, origin: &Origin) -> Result<Plan, BucketError> {
        // No policy looks at the request.
        if limits.document().is_empty() {
            return Ok(Plan::empty());
        }
        let policies = limits.policies();
        let body = if policies.see_bodies() { Box::pin(parsed_body(submission)).await? } else { None };
        let request = Request {
            // What a bucket's own method is, its callers don't see.
            method: submission.method.as_ref().unwrap_or(&Method::POST).as_str(),
            path: submission.path.as_ref().map_or("/", UpstreamPath::as_str),
            headers: Some(&origin.headers),
            caller: submission.caller.as_deref(),
            ip: origin.address,
            body: body.as_ref(),
            ..Request::default()
        };
        Ok(Plan::new(policies, &self.scopes, &request))
    }
}

/// None: it is no JSON.
async fn parsed_body(submission: &Submission) -> Result<Option<Json>, BucketError> {
    // Many small ones, as a batch has, are as much work as a large one.
    tokio::task::consume_budget().await;
    let body = submission.body.clone();
    parse(body.len(), move || serde_json::from_slice(&body).ok()).await
}
