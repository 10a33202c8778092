//! `dripfeed history BUCKET`

use clap::Args;
use dripfeed_job::BucketName;
use serde_json::Value as Json;

use super::window::Window;
use crate::client::ConnectionArgs;
use crate::exit::Failure;
use crate::output::{self, Column, Format, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    /// Time window, shown in slots of 5 s, 1 min or 15 min
    #[arg(long, default_value = "5m")]
    window: Window,
    #[command(flatten)]
    connection: ConnectionArgs,
}

const COLUMNS: [Column; 10] = [
    ("FROM", |slot| shown(slot, "/at")),
    ("ACCEPTED", |slot| shown(slot, "/accepted")),
    ("REFUSED", |slot| shown(slot, "/refused")),
    ("DELIVERED", |slot| shown(slot, "/delivered")),
    ("RETRIED", |slot| shown(slot, "/retried")),
    ("DEAD", |slot| shown(slot, "/dead")),
    ("LEVEL", |slot| level(slot).to_string()),
    ("CALLS", |slot| shown(slot, "/calls")),
    ("CALL P95 MS", |slot| shown(slot, "/attempt_ms/p95")),
    ("TOTAL P95 MS", |slot| shown(slot, "/total_ms/p95")),
];

pub(crate) async fn run(Arguments { bucket, window, connection }: &Arguments) -> Result<(), Failure> {
    let path = format!("/v1/buckets/{bucket}/history?window={}", window.as_str());
    let history = connection.server()?.get(&path).await?;
    match connection.output() {
        Format::Table => output::rows(&COLUMNS, history["slots"].as_array().map_or(&[], Vec::as_slice))?,
        Format::Json => output::json(&history)?,
    }
    Ok(())
}

fn level(slot: &Json) -> u64 {
    ["waiting", "in_flight", "parked"].iter().filter_map(|layer| slot[layer].as_u64()).sum()
}
