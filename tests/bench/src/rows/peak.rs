use crate::figure::{Figure, Samples};
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::drain;

const BYTES: usize = 8 << 10;
const JOBS: u64 = 5000;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let mut peaks = Samples::default();
    for _ in 0..bed.volume.rounds {
        peaks.push(drain::measure(bed, Side::Dripfeed, JOBS, BYTES).await?.peak);
    }
    Ok(vec![Figure::alone("peak", &peaks)?])
}
