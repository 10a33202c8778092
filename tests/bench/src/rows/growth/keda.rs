use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use dripfeed_grpc::external_scaler::external_scaler_client::ExternalScalerClient;
use dripfeed_grpc::external_scaler::{IsActiveResponse, ScaledObjectRef};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tonic::Streaming;
use tonic::body::Body;

use crate::client::{Connection, PATIENCE};
use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::jobs;

const TRIES: u32 = 5;
/// The intake polls twice a second; the tries start at different times of this interval.
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
    let mut stream = active_stream(grpc, "bench").await?;
    anyhow::ensure!(!next(&mut stream).await?, "an empty bucket is active");
    let mut connection = Connection::open(address).await?;
    let job = jobs::post(Side::Dripfeed, address, &jobs::body(0, jobs::BYTES));
    let purge = jobs::post_to(address, "/v1/buckets/bench/purge", "");
    let mut times = Samples::default();
    for number in 0..TRIES {
        tokio::time::sleep(LOOK * number / TRIES).await;
        let begun = Instant::now();
        let status = connection.exchange(&job).await?;
        anyhow::ensure!(status == 202, "the answer is {status}");
        anyhow::ensure!(next(&mut stream).await?, "no change");
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let status = connection.exchange(&purge).await?;
        anyhow::ensure!(status == 200 && !next(&mut stream).await?, "the bucket stays active: {status}");
    }
    intake.stop().await?;
    Ok(times.quantile(1.0))
}

/// Opens a stream as KEDA does.
async fn active_stream(address: SocketAddr, bucket: &str) -> anyhow::Result<Streaming<IsActiveResponse>> {
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http::<Body>();
    let mut scaler = ExternalScalerClient::with_origin(client, format!("http://{address}").parse()?);
    let scaler_metadata = [("bucket".to_owned(), bucket.to_owned())].into();
    Ok(scaler.stream_is_active(ScaledObjectRef { scaler_metadata }).await?.into_inner())
}

/// Waits for the next change.
async fn next(stream: &mut Streaming<IsActiveResponse>) -> anyhow::Result<bool> {
    let answer = tokio::time::timeout(PATIENCE, stream.message()).await.context("no answer")??;
    Ok(answer.context("the stream has ended")?.result)
}

/// An address with a free port.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
