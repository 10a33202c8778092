//! The heartbeat of an intake, which also counts the other intakes and checks for changed rules.

use std::collections::HashMap;
use std::time::Instant;

use dripfeed_store::{Script, Store, StoreError};

use super::intakes::Intakes;
use crate::registry::keys::RegistryKeys;

static HEARTBEAT: Script = Script::new("heartbeat", &[], include_str!("heartbeat.lua"));

/// One intake's view of the registry.
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// The id of this intake.
    id: String,
    /// The version of the known rules. Empty before they are read.
    version: String,
    intakes: Intakes,
}

pub(super) struct HeartbeatNews {
    /// The number of live intakes, including this one.
    pub(super) intakes: u64,
    /// All rules by service, if any have changed.
    pub(super) rules: Option<HashMap<String, String>>,
}

type HeartbeatReply = (String, HashMap<String, u64>, Option<HashMap<String, String>>);

impl Heartbeat {
    pub(super) fn new() -> Self {
        let id = format!("{:016x}", fastrand::u64(..));
        Self { intakes: Intakes::seen_by(&id), id, version: String::new() }
    }

    pub(super) async fn beat(&mut self, store: &Store, keys: &RegistryKeys) -> Result<HeartbeatNews, StoreError> {
        let mut call = HEARTBEAT.on(&[&keys.intakes, &keys.rules, &keys.state]);
        call.arg(&self.id).arg(&self.version);
        for (intake, beats) in self.intakes.gone() {
            call.arg(intake).arg(beats);
        }
        let (version, intakes, rules): HeartbeatReply = store.run(&call).await?;
        self.version = version;
        Ok(HeartbeatNews { intakes: self.intakes.observe(intakes, Instant::now()), rules })
    }

    /// Unregisters this intake, so that the others share the limits without it.
    pub(super) async fn leave(self, store: &Store, keys: &RegistryKeys) {
        let mut forget = redis::cmd("HDEL");
        forget.arg(&keys.intakes).arg(&self.id);
        if let Err(error) = store.command::<u64>(&forget).await {
            tracing::debug!(%error, "could not deregister this intake; the other intakes remove it");
        }
    }
}
