//! `dripfeed key`: API keys, for the configuration or created over the API.

mod new;
mod put;
mod shown;

use bytes::Bytes;
use clap::{Args, Subcommand};
use dripfeed_client::escaped;
use http::{HeaderMap, Method};

use self::new::{NewKey, id};
use self::put::PutArgs;
use self::shown::{COLUMNS, print, with_version};
use super::listing::print_pages;
use crate::client::{ConnectionArgs, if_match};
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Generate a key for the configuration; it is printed once and not stored, its hash goes into the configuration
    New(NewKey),
    /// Create or change a key over the API; a new key is printed once and not stored
    Put(Box<PutArgs>),
    /// Show a key created over the API
    Show {
        /// Id of the key
        #[arg(value_parser = id)]
        id: String,
        #[command(flatten)]
        connection: ConnectionArgs,
    },
    /// List the keys created over the API
    List {
        /// Maximum number of keys
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        connection: ConnectionArgs,
    },
    /// Revoke a key created over the API
    Delete {
        /// Id of the key
        #[arg(value_parser = id)]
        id: String,
        /// Only if the key has this version
        #[arg(long, value_name = "VERSION")]
        if_match: Option<String>,
        #[command(flatten)]
        connection: ConnectionArgs,
    },
}

pub(super) async fn run(Arguments { command }: Arguments) -> Result<(), Failure> {
    match command {
        KeyCommand::New(new) => new::run(&new),
        KeyCommand::Put(put) => put::run(&put.connection.server()?, &path(&put.id), &put).await,
        KeyCommand::Show { id, connection } => {
            let server = connection.server()?;
            let answer = server.call(Method::GET, &path(&id), HeaderMap::new(), Bytes::new()).await?;
            Ok(print(&with_version(&answer)?, connection.output())?)
        }
        KeyCommand::List { limit, connection } => {
            let server = connection.server()?;
            print_pages(server.list("/v1/keys", &[], limit), &COLUMNS, connection.output()).await
        }
        KeyCommand::Delete { id, if_match: version, connection } => {
            let server = connection.server()?;
            server.call(Method::DELETE, &path(&id), if_match(version.as_deref())?, Bytes::new()).await?;
            Ok(())
        }
    }
}

fn path(id: &str) -> String {
    format!("/v1/keys/{}", escaped(id))
}
