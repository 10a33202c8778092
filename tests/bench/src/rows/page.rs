use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Instant;

use tokio::process::Command;

use crate::client::{self, Connection, fetch, get_request};
use crate::event_stream::{self, EventStream};
use crate::figure::{Figure, Samples, count};
use crate::role::{Ready, Role};
use crate::settings::Settings;
use crate::side::{Side, executable, other_bucket};
use crate::testbed::Testbed;
use crate::trials::jobs;

/// Further buckets besides that of all rows.
const BUCKETS: usize = 999;
/// Number of loads for each of two sides.
const LOADS: usize = 200;
/// Number of loads before the measurement.
const WARM: usize = 20;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let [mut frame, mut drawn, mut assets, mut page, mut file] = <[Samples; 5]>::default();
    let (of_api, of_page) = frames(bed).await?;
    frame.push(count(of_api));
    drawn.push(count(of_page));
    for _ in 0..bed.volume.rounds {
        bed.redis.empty().await?;
        let intake = bed.intake(Side::Dripfeed, &Settings::default()).await?;
        let address = intake.address()?;
        let content = fetch(address, "/").await?;
        assets.push(count(bytes_of_assets(address, &content).await?));
        page.push(load_us(address).await?);
        intake.stop().await?;
        let served = serve(bed, &content).await?;
        file.push(load_us(served.address()?).await?);
        served.stop().await?;
    }
    Ok(vec![
        Figure::alone("page-frame", &frame)?,
        Figure::alone("page-drawn", &drawn)?,
        Figure::alone("page-assets", &assets)?,
        Figure::against("page-first", &page, &file)?,
    ])
}

/// The bytes of an event for a thousand buckets with jobs: of the API, and the first one of the page.
async fn frames(bed: &Testbed) -> anyhow::Result<(usize, usize)> {
    bed.redis.empty().await?;
    let intake = bed.intake(Side::Dripfeed, &Settings { others: BUCKETS, ..Settings::default() }).await?;
    let address = intake.address()?;
    let mut connection = Connection::open(address).await?;
    let job = jobs::body(0, jobs::BYTES);
    for number in 0..BUCKETS {
        let path = format!("/v1/buckets/{}/jobs", other_bucket(number));
        let status = connection.exchange(&client::post(address, &path, &[], job.as_bytes())).await?;
        anyhow::ensure!(status == 202, "a job is answered with {status}");
    }
    let of_api = EventStream::open(address, "/v1/events").await?.event().await?;
    let path = event_stream::of_page(&fetch(address, "/").await?)?;
    let of_page = EventStream::open(address, &path).await?.event().await?;
    intake.stop().await?;
    Ok((of_api, of_page))
}

/// The bytes of all files to which the page refers, directly or indirectly.
async fn bytes_of_assets(address: SocketAddr, page: &[u8]) -> anyhow::Result<usize> {
    let mut open: Vec<String> = references(page, "\"/assets/").into_iter().collect();
    let (mut seen, mut bytes) = (BTreeSet::new(), 0);
    while let Some(name) = open.pop() {
        if seen.insert(name.clone()) {
            let content = fetch(address, &format!("/assets/{name}")).await?;
            bytes += content.len();
            open.extend(references(&content, "\"./"));
        }
    }
    anyhow::ensure!(seen.len() > 3, "the page refers to {seen:?}");
    Ok(bytes)
}

/// The quoted texts after `before`.
fn references(text: &[u8], before: &str) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(text);
    let names = text.split(before).skip(1).filter_map(|rest| rest.split('"').next());
    names.map(str::to_owned).collect()
}

/// The median time of a GET, on one connection.
async fn load_us(address: SocketAddr) -> anyhow::Result<f64> {
    let (mut connection, request) = (Connection::open(address).await?, get_request(address, "/"));
    let mut times = Samples::default();
    for load in 0..WARM + LOADS {
        let begun = Instant::now();
        let status = connection.exchange(&request).await?;
        anyhow::ensure!(status == 200, "the page is answered with {status}");
        if load >= WARM {
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    Ok(times.quantile(0.5))
}

/// A server of this content.
async fn serve(bed: &Testbed, content: &[u8]) -> anyhow::Result<Role> {
    let path = bed.redis.folder().join("page.html");
    std::fs::write(&path, content)?;
    let mut command = Command::new(executable("floor")?);
    command.arg("file").arg(path);
    Role::start(command, Ready::Printed).await
}
