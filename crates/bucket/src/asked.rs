//! A submission, the request that brought it, and the limits that it is judged by.

use std::net::IpAddr;
use std::sync::Arc;

use dripfeed_job::Submission;
use dripfeed_job::path::UpstreamPath;
use dripfeed_limit::{Plan, Request};
use http::{HeaderMap, Method};

use crate::core::Core;

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
    pub(crate) plan: Plan,
}

impl Core {
    /// By the limits as they are now.
    pub(crate) fn ask(&self, submission: Submission, origin: &Arc<Origin>) -> Asked {
        let limits = &self.in_force().limits;
        if limits.is_empty() {
            return Asked { plan: Plan::new(limits, &self.scopes, &Request::default()), submission };
        }
        let body = serde_json::from_slice(&submission.body).ok();
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
        Asked { plan: Plan::new(limits, &self.scopes, &request), submission }
    }
}
