//! POSTs at 64 connections, while no processor runs.

use std::time::Duration;

use crate::load::{self, Answers, End, Requests, number};
use crate::machine;
use crate::private_redis::Work;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;

/// The warm-up before the window, as a divisor of its length: connections open, buffers grow.
const WARM: u32 = 4;

pub(crate) struct Admission {
    pub(crate) answers: Answers,
    pub(crate) work: Work,
    pub(crate) intake_busy: Duration,
    /// The share of its core that the load has used.
    pub(crate) load_busy: f64,
    pub(crate) longest_script: f64,
}

impl Admission {
    /// Time of Redis in µs.
    pub(crate) fn redis_per_job(&self) -> f64 {
        self.per_job(self.work.commands)
    }

    pub(crate) fn redis_cpu_per_job(&self) -> f64 {
        self.per_job(self.work.cpu)
    }

    pub(crate) fn intake_per_job(&self) -> f64 {
        self.per_job(self.intake_busy)
    }

    fn per_job(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / number(self.answers.accepted)
    }
}

/// Measures submissions to an empty bucket.
pub(crate) async fn measure(
    bed: &Testbed,
    side: Side,
    settings: &Settings,
    requests: impl FnOnce(std::net::SocketAddr) -> Requests,
) -> anyhow::Result<Admission> {
    bed.redis.empty().await?;
    let intake = bed.intake(side, settings).await?;
    let address = intake.address()?;
    let requests = requests(address);
    load::run(address, &requests, End::After(bed.volume.window / WARM)).await?;
    let begun = bed.redis.begin().await?;
    let (intake_begun, load_begun) = (intake.busy()?, machine::busy(std::process::id())?);
    let answers = load::run(address, &requests, End::After(bed.volume.window)).await?;
    let (intake_ended, load_ended) = (intake.busy()?, machine::busy(std::process::id())?);
    let work = bed.redis.work(begun, side.sent()).await?;
    let longest_script = bed.redis.longest_script().await?;
    intake.stop().await?;
    anyhow::ensure!(answers.accepted > 0, "nothing was accepted");
    Ok(Admission {
        answers,
        work,
        intake_busy: intake_ended.saturating_sub(intake_begun),
        load_busy: load_ended.saturating_sub(load_begun).as_secs_f64() / answers.elapsed.as_secs_f64() * 100.0,
        longest_script,
    })
}
