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

/// Where neither the terminal nor `COLUMNS` says how wide it is.
const WIDTH: u16 = 120;

/// # Errors
/// When there is no frame, or one of the buckets isn't in it.
pub(super) async fn print(server: &Client, names: Vec<String>, format: Format) -> Result<(), Failure> {
    let (installation, mut stream) = feed::open(server, &names).await?;
    let mut data = next(&mut stream).await?;
    if names.is_empty() {
        // The first frame says which buckets there are, the next one all about them.
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
        // Of a bucket that isn't there, a frame says nothing.
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

/// `watch` says it in the environment.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.unwrap_or(WIDTH).into()
}
