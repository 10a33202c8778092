//! `dripfeed purge BUCKET`

use std::io::{self, IsTerminal as _, Write as _};

use clap::Args;
use dripfeed_job::BucketName;

use super::done;
use crate::client::ConnectionArgs;
use crate::exit::{Exit, Failure};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    /// Don't ask for confirmation; needed where standard input isn't a terminal
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
}

pub(super) async fn run(Arguments { bucket, yes, connection }: &Arguments) -> Result<(), Failure> {
    let server = connection.server()?;
    let question = format!("Cancel all waiting and parked jobs of `{bucket}`?");
    if !yes && !confirmed("purge", &question, bucket)? {
        return Err(Failure::new(Exit::Failure, "nothing was purged"));
    }
    let purged = server.post(&format!("/v1/buckets/{bucket}/purge")).await?;
    Ok(done::print(&purged, "purged", "job", connection.output())?)
}

/// Asks the user at the terminal to type the bucket's name. `command`: the name of the command, for errors.
pub(super) fn confirmed(command: &str, question: &str, bucket: &BucketName) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(
            Exit::Usage,
            format!("{command} needs a confirmation, and standard input isn't a terminal: use --yes"),
        ));
    }
    eprint!("{question} Type the bucket's name: ");
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim() == bucket.as_str())
}
