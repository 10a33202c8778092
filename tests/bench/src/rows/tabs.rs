use std::net::SocketAddr;

use tokio::task::JoinSet;

use crate::client::fetch;
use crate::event_stream::{self, EventStream};
use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{admission, jobs};

const TABS: usize = 3;
/// A difference of a few percent takes more measurements than a ratio to the floor.
const TIMES_THE_ROUNDS: usize = 2;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut watched, mut alone) = (Samples::default(), Samples::default());
    for round in 0..bed.volume.rounds * TIMES_THE_ROUNDS {
        let in_turn = if round.is_multiple_of(2) { [0, TABS] } else { [TABS, 0] };
        for tabs in in_turn {
            let samples = if tabs == 0 { &mut alone } else { &mut watched };
            samples.push(accepted_per_s(bed, tabs).await?);
        }
    }
    Ok(vec![Figure::against("tabs", &watched, &alone)?])
}

async fn accepted_per_s(bed: &Testbed, tabs: usize) -> anyhow::Result<f64> {
    let side = Side::Dripfeed;
    let mut open = JoinSet::new();
    let requests = |at| {
        (0..tabs).for_each(|_| drop(open.spawn(watch(at))));
        jobs::single(side, at, jobs::BYTES)
    };
    let found = admission::measure(bed, side, &Settings::default(), requests).await?;
    while let Some(events) = open.join_next().await {
        anyhow::ensure!(events? > 0, "a tab saw nothing");
    }
    Ok(found.answers.accepted_per_s())
}

/// Until the intake ends; returns how many events came.
async fn watch(address: SocketAddr) -> usize {
    let Ok(mut tab) = open(address).await else { return 0 };
    let mut events = 0;
    while tab.event().await.is_ok() {
        events += 1;
    }
    events
}

/// All buckets.
async fn open(address: SocketAddr) -> anyhow::Result<EventStream> {
    let path = event_stream::of_page(&fetch(address, "/").await?)?;
    EventStream::open(address, &path).await
}
