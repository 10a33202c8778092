//! The published gate, window and bounded queues.

use std::time::Duration;

use dripfeed_store::{Script, Store};
use redis::cmd;
use tokio::time::{MissedTickBehavior, interval};

use super::{AT_THE_GATE, CALLS, LIMIT, WINDOW};
use crate::call_log::{CallLog, PassedCalls};
use crate::error::LabError;
use crate::load::{PAUSE, for_as_long_as, until_passed};
use crate::testbed::Testbed;

pub(super) static GATE: Script = Script::new("gate", &[], include_str!("gate.lua"));
pub(super) static SET_WINDOW: Script = Script::new("set window", &[], include_str!("set_window.lua"));
pub(super) static BOUNDED_STREAM: Script = Script::new("bounded stream", &[], include_str!("bounded_stream.lua"));
pub(super) static BOUNDED_LIST: Script = Script::new("bounded list", &[], include_str!("bounded_list.lua"));

/// The time between two calls of a gate, for 30 calls a second.
const PACE: Duration = Duration::from_nanos(33_333_333);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    Stream,
    List,
}

/// Runs the published gates: the callers take turns, each at its own gate.
pub(super) async fn gates(testbed: &Testbed) -> Result<PassedCalls, LabError> {
    let store = &testbed.connect().await?;
    let callers = usize::try_from(LIMIT).unwrap_or(1);
    let key = |passed: usize| testbed.key(&format!("gate:{}", passed % callers));
    until_passed(CALLS, |passed| gate(store, key(passed), WINDOW)).await
}

pub(super) async fn gate_of_a_second(testbed: &Testbed) -> Result<PassedCalls, LabError> {
    let store = &testbed.connect().await?;
    for_as_long_as(AT_THE_GATE, PAUSE, || gate(store, testbed.key("gate:second"), Duration::from_secs(1))).await
}

async fn gate(store: &Store, key: String, period: Duration) -> Result<bool, LabError> {
    Ok(store.run(GATE.on(&[key]).arg(period.as_millis().to_string())).await?)
}

pub(super) async fn window(testbed: &Testbed) -> Result<PassedCalls, LabError> {
    let store = &testbed.connect().await?;
    let key = &[testbed.key("window")];
    until_passed(CALLS, |_| async {
        let mut call = SET_WINDOW.on(key);
        Ok(store.run(call.arg(WINDOW.as_micros().to_string()).arg(LIMIT)).await?)
    })
    .await
}

/// Counts the jobs that the processor takes from the queue.
pub(super) async fn queue(testbed: &Testbed, kind: Queue) -> Result<PassedCalls, LabError> {
    let (name, script) = match kind {
        Queue::Stream => ("stream", &BOUNDED_STREAM),
        Queue::List => ("list", &BOUNDED_LIST),
    };
    let (key, store) = (testbed.key(name), &testbed.connect().await?);
    let keys = std::slice::from_ref(&key);
    let filling = until_passed(CALLS, |_| async { Ok(store.run(script.on(keys).arg(LIMIT).arg("tiger")).await?) });
    let processed = async {
        match kind {
            Queue::Stream => process_stream(&testbed.connect().await?, &key).await,
            Queue::List => process_list(&testbed.connect().await?, &key).await,
        }
    };
    Ok(futures::try_join!(filling, processed)?.1)
}

async fn process_stream(store: &Store, key: &str) -> Result<PassedCalls, LabError> {
    let mut create = cmd("XGROUP");
    store.command::<()>(create.arg("CREATE").arg(key).arg("processors").arg("0").arg("MKSTREAM")).await?;
    let mut read = cmd("XREADGROUP");
    read.arg("GROUP").arg("processors").arg("one").arg("COUNT").arg(1).arg("STREAMS").arg(key).arg(">");
    process(async || {
        let read: Option<redis::streams::StreamReadReply> = store.command(&read).await?;
        let Some(entry) = read.into_iter().flat_map(|read| read.keys).flat_map(|stream| stream.ids).next() else {
            return Ok(false);
        };
        store.command::<()>(cmd("XACK").arg(key).arg("processors").arg(&entry.id)).await?;
        store.command::<()>(cmd("XDEL").arg(key).arg(&entry.id)).await?;
        Ok(true)
    })
    .await
}

async fn process_list(store: &Store, key: &str) -> Result<PassedCalls, LabError> {
    process(async || Ok(store.command::<Option<String>>(cmd("RPOP").arg(key)).await?.is_some())).await
}

async fn process(take: impl AsyncFn() -> Result<bool, LabError>) -> Result<PassedCalls, LabError> {
    let log = CallLog::default();
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while log.count() < CALLS {
        pace.tick().await;
        if take().await? {
            log.seen(std::time::Instant::now());
        }
    }
    Ok(log.read())
}
