//! `dripfeed dead BUCKET replays`: background replays.

use clap::Args;
use dripfeed_client::{Client, escaped};
use serde_json::Value as Json;

use crate::exit::Failure;
use crate::output::{self, Column, Format, shown};

#[derive(Args, Debug)]
pub(super) struct ReplaysArgs {
    /// Id of the replay
    id: Option<String>,
    /// Stop it; letters that it hasn't replayed yet stay
    #[arg(long, requires = "id")]
    cancel: bool,
}

const COLUMNS: [Column; 9] = [
    ("ID", |replay| shown(replay, "/id")),
    ("STATE", |replay| shown(replay, "/state")),
    ("DONE", |replay| shown(replay, "/done")),
    ("FAILED", |replay| shown(replay, "/failed")),
    ("GONE", |replay| shown(replay, "/gone")),
    ("TOTAL", |replay| shown(replay, "/total")),
    ("RATE", |replay| shown(replay, "/rate")),
    ("STARTED", |replay| shown(replay, "/started_at")),
    ("ENDED", |replay| shown(replay, "/ended_at")),
];

/// `path`: of the bucket's dead letters.
pub(super) async fn run(
    server: &Client,
    path: &str,
    ReplaysArgs { id, cancel }: &ReplaysArgs,
    format: Format,
) -> Result<(), Failure> {
    let path = format!("{path}/replays");
    let Some(id) = id else {
        let mut list = server.get(&path).await?;
        let items = list["items"].take();
        match format {
            Format::Table => output::rows(&COLUMNS, items.as_array().map_or(&[], Vec::as_slice))?,
            Format::Json => output::json(&items)?,
        }
        return Ok(());
    };
    let path = format!("{path}/{}", escaped(id));
    if *cancel {
        server.delete(&path).await?;
    }
    Ok(print(&server.get(&path).await?, format)?)
}

pub(super) fn print(replay: &Json, format: Format) -> std::io::Result<()> {
    match format {
        Format::Table => output::sheet(&COLUMNS, replay),
        Format::Json => output::json(replay),
    }
}
