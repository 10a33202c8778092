//! One stream of frames.

use std::sync::Arc;

use axum::BoxError;
use bytes::Bytes;
use dripfeed_auth::{Caller, Scope, WaitPermit};
use futures::{Stream, stream};
use http::HeaderMap;
use tokio::sync::watch;

use super::frame::Frame;
use crate::intake::Intake;
use crate::readings::{Look, Reading};

pub(super) struct EventStream {
    intake: Intake,
    /// They have the caller's key, which may be revoked or changed meanwhile.
    headers: HeaderMap,
    states: Vec<String>,
    look: Look,
    /// Of keys.
    changes: watch::Receiver<()>,
    _permit: WaitPermit,
}

impl EventStream {
    pub(super) fn new(intake: Intake, headers: HeaderMap, states: Vec<String>, permit: WaitPermit) -> Self {
        let (look, changes) = (intake.readings().look(), intake.keys().changes());
        Self { intake, headers, states, look, changes, _permit: permit }
    }

    /// Ends when the intake drains, or the key isn't valid any more, or lost the scope `read`.
    pub(super) fn frames(self) -> impl Stream<Item = Result<Bytes, BoxError>> {
        stream::unfold(self, |mut stream| async move {
            let frame = stream.next().await?;
            Some((frame, stream))
        })
    }

    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            tokio::select! {
                reading = self.look.next() => return self.frame(&reading?),
                () = self.intake.health().draining().cancelled() => return None,
                // It is never dropped before the intake.
                _ = self.changes.changed() => drop(self.reader()?),
            }
        }
    }

    fn frame(&self, reading: &Arc<Reading>) -> Option<Result<Bytes, BoxError>> {
        let event = Frame::of(reading, &self.reader()?, &self.states).event();
        Some(event.map(Bytes::from).map_err(BoxError::from))
    }

    fn reader(&self) -> Option<Caller> {
        self.intake.keys().caller(&self.headers).filter(|caller| caller.may(Scope::Read))
    }
}
