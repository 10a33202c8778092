mod active_stream;

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use self::active_stream::ActiveStream;
use crate::client::Connection;
use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::jobs;

const TRIES: u32 = 5;
/// In which the tries begin at different times: the intake looks twice a second.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let mut longest = Samples::default();
    for _ in 0..bed.volume.rounds {
        longest.push(longest_ms(bed).await?);
    }
    Ok(vec![Figure::alone("keda", &longest)?])
}

async fn longest_ms(bed: &Testbed) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    let grpc = free_address()?;
    let settings = Settings { more: format!("[grpc]\nlisten = \"{grpc}\"\n"), ..Settings::default() };
    let intake = bed.intake(Side::Dripfeed, &settings).await?;
    let address = intake.address()?;
    let mut stream = ActiveStream::open(grpc, "bench").await?;
    anyhow::ensure!(!stream.next().await?, "an empty bucket is active");
    let mut connection = Connection::open(address).await?;
    let job = jobs::post(Side::Dripfeed, address, &jobs::body(0, jobs::BYTES));
    let purge = jobs::post_to(address, "/v1/buckets/bench/purge", "");
    let mut times = Samples::default();
    for number in 0..TRIES {
        tokio::time::sleep(LOOK * number / TRIES).await;
        let begun = Instant::now();
        let status = connection.exchange(&job).await?;
        anyhow::ensure!(status == 202, "the answer is {status}");
        anyhow::ensure!(stream.next().await?, "no change");
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let status = connection.exchange(&purge).await?;
        anyhow::ensure!(status == 200 && !stream.next().await?, "the bucket stays active: {status}");
    }
    intake.stop().await?;
    Ok(times.quantile(1.0))
}

/// Of a port that nobody has at the moment.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
