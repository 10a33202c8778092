//! `dripfeed key new`

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{Args, Subcommand};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::exit::Failure;
use crate::output::{self, Format};
use crate::settings::check_key_id;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Create a random key: it is printed once and stored nowhere; the configuration gets its hash
    New(NewKey),
}

#[derive(Args, Debug)]
struct NewKey {
    /// Caller that uses it. For key rotation give the second key the same id: both are valid until the old one is
    /// removed
    #[arg(long, default_value = "caller", value_parser = id)]
    id: String,
    /// Output format: the key alone and, on standard error, its section; or both as JSON
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

/// Lets secret scanners find a key that leaked into a log or a repository.
const MARK: &str = "dripfeed_";
/// 256 bits.
const RANDOM_BYTES: usize = 32;
/// Scopes of a new section, until it is narrowed.
const SCOPES: [&str; 4] = ["submit", "read", "inspect", "operate"];

pub(super) fn run(Arguments { command: KeyCommand::New(new) }: &Arguments) -> Result<(), Failure> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no random bytes from the system: {error}"))?;
    let key = format!("{MARK}{}", URL_SAFE_NO_PAD.encode(random));
    let hash: String = Sha256::digest(&key).iter().map(|byte| format!("{byte:02x}")).collect();
    match new.output {
        Format::Table => {
            output::line(&key)?;
            output::say(section(&new.id, &hash));
        }
        Format::Json => output::json(
            &json!({"key": key, "section": {"id": new.id, "sha256": hash, "scopes": SCOPES, "buckets": ["*"]}}),
        )?,
    }
    Ok(())
}

/// For a configuration file, as it stands.
fn section(id: &str, hash: &str) -> String {
    // What JSON escapes in visible ASCII, TOML escapes alike.
    let [id, scopes, hash] = [json!(id), json!(SCOPES), json!(hash)].map(|value| value.to_string());
    format!(
        "# The key is on standard output and stored nowhere. Add this to the configuration, narrowed to its purpose:\n\
         [[keys]]\nid = {id}\nsha256 = {hash}\nscopes = {scopes}\nbuckets = [\"*\"]"
    )
}

fn id(text: &str) -> Result<String, String> {
    check_key_id(text).map(|()| text.to_owned())
}
