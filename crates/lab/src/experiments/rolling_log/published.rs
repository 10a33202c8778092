//! The published log: all tries in a sorted set.

use dripfeed_store::Script;

use super::{GAP, LIMIT, LOAD, PAUSE, WINDOW};
use crate::call_log::PassedCalls;
use crate::error::LabError;
use crate::load::for_as_long_as;
use crate::testbed::Testbed;

static ROLLING_LOG: Script = Script::new("rolling log", &[], include_str!("rolling_log.lua"));

pub(super) async fn rolling_log(testbed: &Testbed) -> Result<PassedCalls, LabError> {
    let store = &testbed.connect().await?;
    let key = &[testbed.key("log")];
    for_as_long_as(LOAD, PAUSE, || async {
        let mut call = ROLLING_LOG.on(key);
        call.arg(WINDOW.as_micros().to_string()).arg(LIMIT).arg(GAP.as_micros().to_string());
        Ok(store.run(&call).await?)
    })
    .await
}
