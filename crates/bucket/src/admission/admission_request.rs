//! A submission, the request that brought it, and the limits that apply to it.

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
use crate::pace;
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket};

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
    /// The settings of that moment. No plan: no limit applies.
    Limits { origin: Arc<Origin>, settings: Arc<EffectiveSettings>, plan: Option<Arc<Plan>> },
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
            Terms::Limits { plan: Some(plan), .. } => plan.policies().map(|policy| policy.tiers().len()).sum(),
            Terms::Limits { plan: None, .. } | Terms::Accepted { .. } => 0,
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

/// How a batch is judged: each submission by what applies to it, all by the same settings.
pub(crate) struct BatchPlan {
    settings: Arc<EffectiveSettings>,
    pub(crate) plans: Vec<Option<Arc<Plan>>>,
}

impl BatchPlan {
    pub(crate) fn is_by(&self, settings: &Arc<EffectiveSettings>) -> bool {
        Arc::ptr_eq(&self.settings, settings)
    }

    /// `keys`, and behind them where the limits have their states; and the policies and plans as a script takes them, a
    /// plan empty where no limit applies.
    pub(crate) fn pack(&self, keys: Vec<String>) -> (Vec<String>, Vec<u8>, Vec<Vec<u8>>) {
        if self.plans.iter().all(Option::is_none) {
            return (keys, Vec::new(), vec![Vec::new(); self.plans.len()]);
        }
        let (mut index, now_us) = (KeyIndex::after(keys).with_policies(), pace::now_us());
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

    /// Where the settings are still those of a request, its plan holds.
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
        let plan = Plan::new(policies, &self.scopes, &request);
        Ok((!plan.is_empty()).then(|| Arc::new(plan)))
    }
}

/// None: it is no JSON.
async fn parsed_body(submission: &Submission) -> Result<Option<Json>, BucketError> {
    // Many small ones, as a batch has, are as much work as a large one.
    tokio::task::consume_budget().await;
    let body = submission.body.clone();
    parse(body.len(), move || serde_json::from_slice(&body).ok()).await
}
