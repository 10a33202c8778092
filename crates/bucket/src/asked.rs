//! A submission, the request that brought it, and the limits that it is judged by.

use std::net::IpAddr;
use std::sync::Arc;

use dripfeed_job::Submission;
use dripfeed_job::path::UpstreamPath;
use dripfeed_limit::{Plan, Request};
use http::{HeaderMap, Method};

use crate::core::Core;
use crate::limits::BucketLimits;

/// What limits may count by, beside the submission itself.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Of the request that brought it.
    pub headers: HeaderMap,
    /// The caller's. None: it isn't known, and counts as one for all.
    pub address: Option<IpAddr>,
}

pub(crate) struct Asked {
    pub(crate) submission: Submission,
    origin: Arc<Origin>,
    /// By the limits of that moment.
    planned: (BucketLimits, Arc<Plan>),
}

/// How a batch is judged: a plan for each submission, by the same limits.
pub(crate) struct Planning {
    limits: BucketLimits,
    pub(crate) plans: Vec<Arc<Plan>>,
}

impl Planning {
    pub(crate) fn is_by(&self, limits: &BucketLimits) -> bool {
        self.limits.are(limits)
    }
}

impl Core {
    pub(crate) fn ask(&self, submission: Submission, origin: Arc<Origin>) -> Asked {
        let limits = self.in_force().limits.clone();
        let plan = Arc::new(self.plan(&limits, &submission, &origin));
        Asked { submission, origin, planned: (limits, plan) }
    }

    /// Where the limits are still those of the asking, its plans hold.
    pub(crate) fn plan_all(&self, asked: &[Asked], limits: &BucketLimits) -> Planning {
        let plan = |asked: &Asked| match &asked.planned {
            (before, plan) if before.are(limits) => plan.clone(),
            _ => Arc::new(self.plan(limits, &asked.submission, &asked.origin)),
        };
        Planning { limits: limits.clone(), plans: asked.iter().map(plan).collect() }
    }

    fn plan(&self, limits: &BucketLimits, submission: &Submission, origin: &Origin) -> Plan {
        let policies = limits.policies();
        let body = policies.see_bodies().then(|| serde_json::from_slice(&submission.body).ok()).flatten();
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
        Plan::new(policies, &self.scopes, &request)
    }
}
