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
use crate::readings::{Reading, ReadingsObserver};

pub(super) struct EventStream {
    intake: Intake,
    /// The headers with the caller's key, which is checked for each frame, because it may be revoked or changed.
    headers: HeaderMap,
    states: Vec<String>,
    readings: ReadingsObserver,
    /// Changes of API keys.
    changes: watch::Receiver<()>,
    _permit: WaitPermit,
}

impl EventStream {
    pub(super) fn new(intake: Intake, headers: HeaderMap, states: Vec<String>, permit: WaitPermit) -> Self {
        let (readings, changes) = (intake.readings().observe(), intake.keys().changes());
        Self { intake, headers, states, readings, changes, _permit: permit }
    }

    /// The frames. The stream ends when the intake drains, or the key is no longer valid or has lost the scope `read`.
    pub(super) fn frames(self) -> impl Stream<Item = Result<Bytes, BoxError>> {
        stream::unfold(self, |mut stream| async move {
            let frame = stream.next().await?;
            Some((frame, stream))
        })
    }

    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            tokio::select! {
                reading = self.readings.next() => return self.frame(&reading?),
                () = self.intake.health().draining().cancelled() => return None,
                // Never fails, because the sender lives as long as the intake.
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
