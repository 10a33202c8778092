//! Functions shared by the handlers that change keys.

use std::sync::Arc;

use dripfeed_auth::{Caller, KeyRegistry, RunTimeKey};

use crate::intake::Intake;
use crate::problem::{Code, Problem};

/// How often a change is tried while others change the same key.
pub(super) const TRIES: usize = 10;

/// Returns the registry of keys, and the id of the caller's key.
pub(super) fn registry<'i>(intake: &'i Intake, caller: &'i Caller) -> Result<(&'i KeyRegistry, &'i str), Problem> {
    let nobody = || {
        let detail = "no key in the configuration has the scope `keys`; add one to [[keys]]";
        Problem::new(Code::Forbidden, detail)
    };
    intake.keys().registry().zip(caller.id()).ok_or_else(nobody)
}

/// Refuses the id of a key in the configuration: configured keys take precedence.
pub(super) fn check_configured(intake: &Intake, id: &str) -> Result<(), Problem> {
    if intake.keys().is_configured(id) {
        return Err(Problem::configured_key());
    }
    Ok(())
}

/// Returns the current key with this id, or `None` if it doesn't exist or has more permissions than the caller's.
pub(super) async fn find(intake: &Intake, caller: &Caller, id: &str) -> Result<Option<Arc<RunTimeKey>>, Problem> {
    intake.keys().follow().await?;
    let found = intake.keys().run_time_keys().get(id).cloned();
    Ok(found.filter(|found| caller.covers(found)))
}

/// The problem if every try met another change.
pub(super) fn contended() -> Problem {
    Problem::new(Code::StoreUnavailable, "the key is being changed by another request; retry later")
}
