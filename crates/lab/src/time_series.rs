//! Time series in Redis, as the published script keeps them: a key for each approach with the label `data=hits`, and a
//! sample for each call that got through. `TS.MRANGE - + AGGREGATION SUM 100 FILTER data=hits` shows them.

use dripfeed_store::Store;
use redis::{Cmd, Pipeline, Value, cmd};

use crate::clock::Clock;
use crate::error::LabError;
use crate::results::{ApproachLine, Implementation};

/// The maximum number of commands in one round trip.
const AT_ONCE: usize = 500;

/// # Errors
/// When the server has no time series.
pub(crate) async fn require(store: &Store) -> Result<(), LabError> {
    let told: Vec<Value> = store.command(cmd("COMMAND").arg("INFO").arg("TS.ADD")).await?;
    if matches!(told.first(), None | Some(Value::Nil)) {
        return Err(LabError::NoTimeSeries(store.address().to_string()));
    }
    Ok(())
}

/// Records the allowed calls. Replaces what an earlier run has recorded.
pub(crate) async fn record(
    store: &Store,
    clock: Clock,
    experiment: &str,
    lines: &[ApproachLine],
) -> Result<(), LabError> {
    for (number, line) in lines.iter().enumerate() {
        for part in commands(clock, experiment, number + 1, line).chunks(AT_ONCE) {
            let mut pipeline = Pipeline::new();
            for command in part {
                pipeline.add_command(command.clone()).ignore();
            }
            store.pipeline::<()>(&pipeline).await?;
        }
    }
    Ok(())
}

fn commands(clock: Clock, experiment: &str, number: usize, line: &ApproachLine) -> Vec<Cmd> {
    let key = format!("lab:{experiment}:{number}{{ratelimit}}");
    let approach = match line.whose {
        Implementation::Published => "published",
        Implementation::Ours => "ours",
    };
    let mut delete = cmd("DEL");
    delete.arg(&key);
    let mut create = cmd("TS.CREATE");
    // Several calls may have been allowed in one millisecond.
    create.arg(&key).arg(&["RETENTION", "0", "DUPLICATE_POLICY", "SUM", "LABELS", "data", "hits"]);
    create.arg("experiment").arg(experiment).arg("approach").arg(approach);
    let add = |at| {
        let mut add = cmd("TS.ADD");
        add.arg(&key).arg(clock.us(at) / 1000).arg(1);
        add
    };
    let samples = line.passes.iter().map(|pass| add(pass.answered));
    [delete, create].into_iter().chain(samples).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use redis::Arg;

    use super::*;
    use crate::call_log::{PassedCall, PassedCalls};

    fn words(command: &Cmd) -> String {
        let word = |arg: Arg<&[u8]>| match arg {
            Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => "?".to_owned(),
        };
        command.args_iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_call_is_a_sample_at_its_time() {
        let begin = Instant::now();
        let pass = |ms| PassedCall { asked: begin, answered: begin + Duration::from_millis(ms) };
        let passes = PassedCalls::of(vec![pass(1), pass(250)]);
        let line =
            ApproachLine { label: "a gate", whose: Implementation::Ours, published: None, passes, allowed_per_s: 30.0 };
        let told: Vec<String> =
            commands(Clock::showing(1_700_000_000_000_000, begin), "gates", 2, &line).iter().map(words).collect();
        let create = "TS.CREATE lab:gates:2{ratelimit} RETENTION 0 DUPLICATE_POLICY SUM LABELS data hits \
                      experiment gates approach ours";
        assert_eq!(
            told,
            [
                "DEL lab:gates:2{ratelimit}",
                create,
                "TS.ADD lab:gates:2{ratelimit} 1700000000001 1",
                "TS.ADD lab:gates:2{ratelimit} 1700000000250 1",
            ]
        );
    }
}
