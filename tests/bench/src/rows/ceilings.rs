use std::time::Instant;

use tokio::process::Command;

use crate::figure::{Figure, Samples};
use crate::load::{self, End, per_s};
use crate::role::{Ready, Role};
use crate::side::{Side, executable};
use crate::testbed::Testbed;
use crate::trials::drain::PATIENCE;
use crate::trials::jobs;
use crate::upstream::Detail;

const PIPELINE: u64 = 100;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let [mut echo, mut xadd, mut calls] = <[Samples; 3]>::default();
    for _ in 0..bed.volume.rounds {
        echo.push(echoed_per_s(bed).await?);
        xadd.push(added_per_s(bed).await?);
        calls.push(called_per_s(bed).await?);
    }
    Ok(vec![Figure::alone("echo", &echo)?, Figure::alone("xadd", &xadd)?, Figure::alone("calls", &calls)?])
}

async fn echoed_per_s(bed: &Testbed) -> anyhow::Result<f64> {
    let mut command = Command::new(executable("floor")?);
    command.arg("echo");
    let echo = Role::start(command, Ready::Printed).await?;
    let address = echo.address()?;
    let requests = jobs::single(Side::Floor, address, jobs::BYTES);
    let answers = load::run(address, &requests, End::After(bed.volume.window)).await?;
    echo.stop().await?;
    Ok(answers.accepted_per_s())
}

async fn added_per_s(bed: &Testbed) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    let (mut connection, body) = (bed.redis.connection(), jobs::body(0, jobs::BYTES));
    let mut pipeline = redis::pipe();
    for _ in 0..PIPELINE {
        pipeline.cmd("XADD").arg("jobs").arg("*").arg("body").arg(&body).ignore();
    }
    let (begun, mut added) = (Instant::now(), 0);
    while begun.elapsed() < bed.volume.window {
        pipeline.exec_async(&mut connection).await?;
        added += PIPELINE;
    }
    Ok(per_s(added, begun.elapsed()))
}

async fn called_per_s(bed: &Testbed) -> anyhow::Result<f64> {
    bed.upstream.note(Detail::Counts, u64::MAX);
    let mut command = Command::new(executable("floor")?);
    command.args(["calls", &bed.upstream.url()]);
    let calls = Role::start(command, Ready::Printed).await?;
    bed.upstream.noted(1, PATIENCE).await?;
    bed.upstream.note(Detail::Counts, u64::MAX);
    tokio::time::sleep(bed.volume.window).await;
    let called = bed.upstream.so_far().calls;
    calls.stop().await?;
    Ok(per_s(called, bed.volume.window))
}
