//! Alternatives, measured alternately with dripfeed and the floor. nginx, which isn't a queue, shows the limit of HTTP.

mod nginx;

use futures::future::BoxFuture;

use super::bytes::bytes_per_job;
use super::refused::refused_per_s;
use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{admission, drain as drained, jobs};

const SIDES: [Side; 3] = [Side::Dripfeed, Side::Floor, Side::Bullmq];

type OfSide = for<'b> fn(&'b Testbed, Side) -> BoxFuture<'b, anyhow::Result<f64>>;
type OfNginx = for<'b> fn(&'b Testbed) -> BoxFuture<'b, anyhow::Result<f64>>;

pub(super) async fn accepted(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let nginx: OfNginx = |bed| Box::pin(nginx::answered_per_s(bed, nginx::PASSED_ON));
    compare(bed, "accepted", |bed, side| Box::pin(accepted_per_s(bed, side)), Some(nginx)).await
}

pub(super) async fn refused(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let nginx: OfNginx = |bed| Box::pin(nginx::answered_per_s(bed, nginx::REFUSED));
    compare(bed, "refused", |bed, side| Box::pin(refused_per_s(bed, side)), Some(nginx)).await
}

pub(super) async fn drain(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    compare(bed, "drain", |bed, side| Box::pin(drained_per_s(bed, side)), None).await
}

pub(super) async fn bytes(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    compare(bed, "bytes", |bed, side| Box::pin(queued_bytes(bed, side)), None).await
}

async fn accepted_per_s(bed: &Testbed, side: Side) -> anyhow::Result<f64> {
    let requests = |at| jobs::single(side, at, jobs::BYTES);
    Ok(admission::measure(bed, side, &Settings::default(), requests).await?.answers.accepted_per_s())
}

async fn drained_per_s(bed: &Testbed, side: Side) -> anyhow::Result<f64> {
    Ok(drained::measure(bed, side, bed.volume.jobs, jobs::BYTES).await?.per_s())
}

async fn queued_bytes(bed: &Testbed, side: Side) -> anyhow::Result<f64> {
    let (queued, _) = bytes_per_job(bed, side).await?;
    Ok(queued)
}

/// dripfeed beside BullMQ, and each beside the floor.
async fn compare(bed: &Testbed, what: &str, of_side: OfSide, of_nginx: Option<OfNginx>) -> anyhow::Result<Vec<Figure>> {
    let (mut found, mut passed) = (<[Samples; SIDES.len()]>::default(), Samples::default());
    for round in 0..bed.volume.rounds {
        for turn in 0..SIDES.len() {
            // None is always the first.
            let at = (round + turn) % SIDES.len();
            found[at].push(of_side(bed, SIDES[at]).await?);
        }
        if let Some(of_nginx) = of_nginx {
            passed.push(of_nginx(bed).await?);
        }
    }
    let [ours, floor, bullmq] = &found;
    let mut figures = vec![
        Figure::against(&format!("peers-{what}"), ours, bullmq)?,
        Figure::against(&format!("peers-{what}-dripfeed"), ours, floor)?,
        Figure::against(&format!("peers-{what}-bullmq"), bullmq, floor)?,
    ];
    if of_nginx.is_some() {
        figures.push(Figure::against(&format!("peers-{what}-nginx"), &passed, floor)?);
    }
    Ok(figures)
}
