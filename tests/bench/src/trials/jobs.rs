//! The requests that submit jobs.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use anyhow::Context as _;

use crate::client;
use crate::load::{self, Answers, End, Requests};
use crate::role::Role;
use crate::side::{Side, key};
use crate::testbed::Testbed;

/// Bytes of a body.
pub(crate) const BYTES: usize = 256;
/// Jobs of one batch.
pub(crate) const BATCH: u64 = 100;
const JSON: (&str, &str) = ("content-type", "application/json");

/// JSON of this size, with a number for the upstream.
pub(crate) fn body(stamp: u64, bytes: usize) -> String {
    let start = format!("{{\"stamp\":\"{stamp:020}\",\"text\":\"");
    let filler = bytes.saturating_sub(start.len() + 2);
    format!("{start}{}\"}}", "x".repeat(filler))
}

/// The number in a body.
pub(crate) fn stamp(body: &[u8]) -> anyhow::Result<u64> {
    let digits = body.get(10..30).context("a body without a stamp")?;
    Ok(std::str::from_utf8(digits)?.parse()?)
}

pub(crate) fn post(side: Side, address: SocketAddr, body: &str) -> Vec<u8> {
    post_to(address, side.path(), body)
}

pub(crate) fn post_to(address: SocketAddr, path: &str, body: &str) -> Vec<u8> {
    client::post(address, path, &[JSON], body.as_bytes())
}

pub(crate) fn single(side: Side, address: SocketAddr, bytes: usize) -> Requests {
    Arc::new(vec![post(side, address, &body(0, bytes))])
}

/// One request for each caller, with its name and its key.
pub(crate) fn of_callers(address: SocketAddr, callers: Range<usize>) -> Requests {
    let body = body(0, BYTES);
    Arc::new(callers.map(|caller| of_caller(address, caller, &body)).collect())
}

pub(crate) fn of_caller(address: SocketAddr, caller: usize, body: &str) -> Vec<u8> {
    let (path, key) = (Side::Dripfeed.path(), key(caller));
    client::post(address, path, &[JSON, ("x-caller", &key), ("dripfeed-key", &key)], body.as_bytes())
}

/// A hundred jobs in one request.
pub(crate) fn batch(address: SocketAddr, bytes: usize) -> Requests {
    Arc::new(vec![batch_with(address, bytes, &[])])
}

/// As `batch`, one request for each caller, with its key.
pub(crate) fn batches_of_callers(address: SocketAddr, callers: Range<usize>) -> Requests {
    Arc::new(callers.map(|caller| batch_with(address, BYTES, &[("dripfeed-key", &key(caller))])).collect())
}

fn batch_with(address: SocketAddr, bytes: usize, headers: &[(&str, &str)]) -> Vec<u8> {
    let item = format!("{{\"body\":{}}}\n", body(0, bytes));
    let items = item.repeat(usize::try_from(BATCH).unwrap_or(1));
    let path = format!("{}/batch", Side::Dripfeed.path());
    let headers = [&[("content-type", "application/x-ndjson")], headers].concat();
    client::post(address, &path, &headers, items.as_bytes())
}

/// Submits this many jobs, a multiple of a hundred.
pub(crate) async fn fill(bed: &Testbed, side: Side, intake: &Role, jobs: u64, bytes: usize) -> anyhow::Result<()> {
    let before = bed.level(side).await?;
    let address = intake.address()?;
    let Answers { refused, .. } = match side {
        Side::Dripfeed => load::run(address, &batch(address, bytes), End::Requests(jobs / BATCH)).await?,
        Side::Floor | Side::Bullmq => load::run(address, &single(side, address, bytes), End::Requests(jobs)).await?,
    };
    let level = bed.level(side).await?;
    anyhow::ensure!(refused == 0 && level >= before + jobs, "the bucket has {level} jobs, not {jobs} more");
    Ok(())
}
