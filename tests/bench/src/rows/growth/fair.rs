use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::testbed::Testbed;
use crate::trials::callers::{self, Backlog};

struct Case {
    added: &'static str,
    off: &'static str,
    callers: usize,
    backlog: Backlog,
    /// By how much the jobs of a drain are divided.
    share: u64,
}

const CASES: [Case; 4] = [
    Case { added: "fair-none", off: "fair-none-off", callers: 10, backlog: Backlog::None, share: 5 },
    Case { added: "fair-one", off: "fair-one-off", callers: 1, backlog: Backlog::Times(1), share: 2 },
    Case { added: "fair-ten", off: "fair-ten-off", callers: 10, backlog: Backlog::Times(1), share: 2 },
    Case { added: "fair-thousand", off: "fair-thousand-off", callers: 1000, backlog: Backlog::Times(20), share: 2 },
];

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let mut floors = Samples::default();
    for _ in 0..bed.volume.rounds {
        floors.push(callers::of_floor(bed).await?);
    }
    let floor = floors.quantile(0.5);
    let mut found = <[[Samples; 2]; CASES.len()]>::default();
    for round in 0..bed.volume.rounds {
        let in_turn = if round.is_multiple_of(2) { ["caller", "off"] } else { ["off", "caller"] };
        for (case, [added, off]) in CASES.iter().zip(&mut found) {
            let [first, second] = [us_per_job(bed, case, in_turn[0]).await?, us_per_job(bed, case, in_turn[1]).await?];
            let [by_caller, without] = if in_turn[0] == "caller" { [first, second] } else { [second, first] };
            added.push((by_caller - without) / floor);
            off.push(without / floor);
        }
    }
    let mut figures = Vec::new();
    for (case, [added, off]) in CASES.iter().zip(&found) {
        figures.extend([Figure::alone(case.added, added)?, Figure::alone(case.off, off)?]);
    }
    figures.push(Figure::alone("fair-floor", &floors)?);
    Ok(figures)
}

async fn us_per_job(bed: &Testbed, case: &Case, by: &str) -> anyhow::Result<f64> {
    let more = format!("[buckets.bench.fair]\nby = \"{by}\"\n");
    let settings = Settings { keys: case.callers, more, ..Settings::default() };
    callers::us_per_job(bed, &settings, case.backlog, bed.volume.jobs / case.share).await
}
