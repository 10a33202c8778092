//! Bugs planted for the fault suite, to verify that it finds them. Built only with the feature `planted-bugs`; the
//! environment variable DRIPFEED_PLANT selects one.

use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dripfeed_job::JobId;
use dripfeed_store::Script;

use crate::admission::{Admission, AdmissionDecision, Admitted};
use crate::script::planted_bugs::IN_SCRIPTS;
use crate::settings::Kind;

static PLANT: LazyLock<String> = LazyLock::new(|| std::env::var("DRIPFEED_PLANT").unwrap_or_default());

/// Whether this bug, which isn't in a script, is planted.
pub(crate) fn has(bug: &str) -> bool {
    *PLANT == bug
}

/// The scripts of a verb with the planted bug, if it is in them.
pub(crate) struct PlantedScripts {
    stream: OnceLock<Script>,
    list: OnceLock<Script>,
}

impl PlantedScripts {
    pub(crate) const fn new() -> Self {
        Self { stream: OnceLock::new(), list: OnceLock::new() }
    }

    pub(crate) fn in_script<'s>(&'s self, kind: Kind, script: &'s Script) -> &'s Script {
        let bug = IN_SCRIPTS.iter().find(|(bug, right, _)| *bug == *PLANT && script.source().contains(right));
        let Some((_, right, wrong)) = bug else { return script };
        let planted = match kind {
            Kind::Stream => &self.stream,
            Kind::List => &self.list,
        };
        planted.get_or_init(|| {
            // The empty line hides the head, because the fragments are joined already.
            let source = format!("\n{}", script.source().replace(right, wrong));
            Script::new(script.name(), &[], source.leak())
        })
    }
}

/// If this bug is planted: answers to send before anything is written, with ids that don't exist.
pub(crate) fn answered_before_write(jobs: usize) -> Option<Vec<AdmissionDecision>> {
    if *PLANT != "answered_before_write" {
        return None;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(now.as_millis()).unwrap_or_default();
    let admitted = |_| {
        let id = JobId::new(ms, fastrand::u64(1 << 32..1 << 48));
        let admitted = Admitted { id, level: 1, capacity: 1, eta: Duration::ZERO, room_in: None, repeated: false };
        Judgement { admission: Admission::Admitted(admitted), limits: None, caller_share: None }
    };
    Some((0..jobs).map(admitted).collect())
}
