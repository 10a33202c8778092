use std::time::Duration;

use crate::figure::{Figure, Samples};
use crate::role::Role;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;

/// Time after the start until a role is idle.
const SETTLE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Found {
    memory: Samples,
    cpu: Samples,
    ready: Samples,
}

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut ours, mut floor) = (<[Found; 2]>::default(), <[Found; 2]>::default());
    for round in 0..bed.volume.rounds {
        for side in Side::in_turn(round) {
            let found = if side == Side::Floor { &mut floor } else { &mut ours };
            measure_side(bed, side, found).await?;
        }
    }
    let ([intake, processor], [floor_intake, floor_processor]) = (ours, floor);
    Ok(vec![
        Figure::alone("idle-intake", &intake.memory)?,
        Figure::alone("idle-processor", &processor.memory)?,
        Figure::alone("idle-intake-floor", &floor_intake.memory)?,
        Figure::alone("idle-processor-floor", &floor_processor.memory)?,
        Figure::alone("idle-intake-cpu", &intake.cpu)?,
        Figure::alone("idle-processor-cpu", &processor.cpu)?,
        Figure::against("ready-intake", &intake.ready, &floor_intake.ready)?,
        Figure::against("ready-processor", &processor.ready, &floor_processor.ready)?,
    ])
}

async fn measure_side(bed: &Testbed, side: Side, found: &mut [Found; 2]) -> anyhow::Result<()> {
    bed.redis.empty().await?;
    let settings = Settings::default();
    let intake = bed.intake(side, &settings).await?;
    let processor = bed.processor(side, &settings).await?;
    let roles = [intake, processor];
    tokio::time::sleep(SETTLE).await;
    let before: Vec<Duration> = roles.iter().map(Role::busy).collect::<Result<_, _>>()?;
    tokio::time::sleep(bed.volume.idle).await;
    for ((role, found), before) in roles.into_iter().zip(found).zip(before) {
        let busy = role.busy()?.saturating_sub(before);
        found.cpu.push(busy.as_secs_f64() / bed.volume.idle.as_secs_f64() * 100.0);
        found.memory.push(role.memory("VmRSS:")?);
        found.ready.push(role.ready_in.as_secs_f64() * 1e3);
        role.stop().await?;
    }
    Ok(())
}
