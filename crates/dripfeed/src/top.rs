//! `dripfeed top`: a live view of the buckets in the terminal, from `GET /v1/events`.
//!
//! `feed` reads frames and reconnects, `app` is the state, `draw` renders it as lines; `session` connects them to the
//! `screen`, and `once` prints one frame.

mod app;
mod bucket_history;
mod draw;
mod feed;
mod once;
mod screen;
mod session;
mod shown_bucket;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _};

use clap::Args;
use dripfeed_job::BucketName;

use self::app::MOST_STATES;
use self::draw::Theme;
use crate::client::ConnectionArgs;
use crate::exit::{Exit, Failure};
use crate::output::Format;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Show only these buckets, at most 64
    #[arg(value_name = "BUCKET")]
    buckets: Vec<BucketName>,
    /// Print one frame as text and exit; works without a terminal
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { buckets, once, connection } = arguments;
    let usage = |message: &'static str| Err(Failure::new(Exit::Usage, message));
    if buckets.len() > MOST_STATES {
        return usage("at most 64 buckets can be shown");
    }
    let is_terminal = io::stdout().is_terminal();
    let names = buckets.iter().map(ToString::to_string).collect();
    let server = connection.server()?;
    match (once, connection.output()) {
        (true, format) => once::print(&server, names, format).await,
        (false, Format::Json) => usage("-o json needs --once"),
        (false, _) if !is_terminal => usage("standard output isn't a terminal: use --once to print one frame"),
        (false, Format::Table) => session::run(server, names, Theme::of_terminal()).await,
    }
}
