//! Common parts of changes of keys.

use std::sync::Arc;

use dripfeed_auth::{Caller, KeyRegistry, RunTimeKey};

use crate::intake::Intake;
use crate::problem::{Code, Problem};

/// How often a change is tried again that meets another one.
pub(super) const TRIES: usize = 10;

/// Where keys are made, and the id of the caller's.
pub(super) fn registry<'i>(intake: &'i Intake, caller: &'i Caller) -> Result<(&'i KeyRegistry, &'i str), Problem> {
    let nobody = || {
        let detail = "no key in the configuration has the scope `keys`; add one to [[keys]]";
        Problem::new(Code::Forbidden, detail)
    };
    intake.keys().registry().zip(caller.id()).ok_or_else(nobody)
}

/// Those of the settings win.
pub(super) fn check_configured(intake: &Intake, id: &str) -> Result<(), Problem> {
    if intake.keys().is_configured(id) {
        return Err(Problem::configured_key());
    }
    Ok(())
}

/// The key of this id as it is now. None: it isn't there, or may do more than the caller's.
pub(super) async fn find(intake: &Intake, caller: &Caller, id: &str) -> Result<Option<Arc<RunTimeKey>>, Problem> {
    intake.keys().follow().await?;
    let found = intake.keys().run_time_keys().get(id).cloned();
    Ok(found.filter(|found| caller.covers(found)))
}

/// Each time there was another change.
pub(super) fn contended() -> Problem {
    Problem::new(Code::StoreUnavailable, "the key is being changed by another request; retry later")
}
