//! Prints one frame as text, for pipes, scripts and `watch`.

use std::time::Instant;

use dripfeed_client::{Client, ClientError};
use dripfeed_dashboard::frame::Frame;
use serde_json::Value as Json;

use super::app::{App, MOST_STATES};
use super::draw::{self, Theme};
use super::feed::{self, FeedEvent};
use crate::client::{EventStream, events};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};

/// The width in characters without `COLUMNS` in the environment.
const WIDTH: u16 = 120;

/// # Errors
/// When there is no frame, or one of the buckets isn't in it.
pub(super) async fn print(server: &Client, names: Vec<String>, format: Format) -> Result<(), Failure> {
    let (installation, mut stream) = feed::open(server, &names).await?;
    let mut data = next(&mut stream).await?;
    if names.is_empty() {
        // The first frame has the names of the buckets. A second one is opened with their whole states.
        let states: Vec<String> = read::<Frame>(&data)?.rows().into_iter().map(|row| row.name).collect();
        if (1..=MOST_STATES).contains(&states.len()) {
            data = next(&mut events(server, &states).await?).await?;
        }
    }
    let mut app = App::new(server.server().to_owned(), names, installation);
    let now = Instant::now();
    app.receive(FeedEvent::Frame(Box::new(read(&data)?)), now);
    match format {
        Format::Table => {
            for line in draw::text(&app, Theme::plain(), now, width()) {
                output::line(line.trim_end())?;
            }
        }
        Format::Json if app.unknown().is_empty() => output::json(&read::<Json>(&data)?)?,
        // A frame in JSON doesn't show which buckets are unknown: only the error below is printed.
        Format::Json => {}
    }
    match app.unknown().as_slice() {
        [] => Ok(()),
        unknown => Err(Failure::new(Exit::Failure, format!("no such bucket for this key: {}", unknown.join(", ")))),
    }
}

async fn next(stream: &mut EventStream) -> Result<Vec<u8>, Failure> {
    let data = stream.next().await?;
    data.map(Vec::from).ok_or_else(|| Failure::new(Exit::Unreachable, "the intake ended the stream"))
}

fn read<T: serde::de::DeserializeOwned>(data: &[u8]) -> Result<T, Failure> {
    Ok(serde_json::from_slice(data).map_err(ClientError::Unexpected)?)
}

/// `watch` sets `COLUMNS` to the width of the terminal.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.unwrap_or(WIDTH).into()
}
