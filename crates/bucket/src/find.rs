//! Finds one job, wherever it is.

use std::sync::LazyLock;

use dripfeed_job::{JobId, Outcome, State};

use crate::core::Core;
use crate::error::BucketError;
use crate::outcomes::EndedJob;
use crate::reply::Reply;
use crate::scripts::{NOW, Scripts};

static SCRIPTS: LazyLock<Scripts> =
    LazyLock::new(|| Scripts::new("find", |kind| vec![NOW, kind.entry, kind.view, kind.find]));

/// A job as callers may see it: everything but its body and headers.
#[derive(Clone, Debug)]
pub struct JobView {
    pub id: JobId,
    pub state: State,
    /// Attempts begun.
    pub attempts: u32,
    /// While parked or delayed: when it is due, ms since the epoch.
    pub due_ms: Option<u64>,
    pub caller: Option<String>,
    /// The replica that has it, while in flight.
    pub consumer: Option<String>,
    /// And when it was settled, ms since the epoch.
    pub outcome: Option<(Outcome, u64)>,
}

impl From<EndedJob> for JobView {
    fn from(ended: EndedJob) -> Self {
        Self {
            id: ended.id,
            state: State::Ended(ended.outcome.result),
            attempts: ended.outcome.attempts,
            due_ms: None,
            caller: ended.outcome.caller.clone(),
            consumer: None,
            outcome: Some((ended.outcome, ended.settled_ms)),
        }
    }
}

impl JobView {
    /// Reads what view.lua made.
    pub(crate) fn read(reply: &mut Reply) -> Result<Self, BucketError> {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let id = reply.parse()?;
        let state = reply.parse::<State>()?;
        let failures = u32::try_from(reply.count()?).unwrap_or(u32::MAX);
        Ok(Self {
            id,
            state,
            attempts: failures + u32::from(state == State::InFlight),
            due_ms: reply.text()?.parse().ok(),
            caller: some(reply.text()?),
            consumer: some(reply.text()?),
            outcome: None,
        })
    }
}

impl Core {
    pub(crate) async fn find(&self, id: JobId) -> Result<Option<JobView>, BucketError> {
        let mut reply = Reply::new("find", self.look(&SCRIPTS, &[&id.to_string()]).await?)?;
        if !reply.is_empty() {
            return JobView::read(&mut reply).map(Some);
        }
        Ok(self.outcome(id).await?.map(JobView::from))
    }
}
