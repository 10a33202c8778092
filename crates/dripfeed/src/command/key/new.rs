//! `dripfeed key new`: a key for the configuration.

use clap::Args;
use dripfeed_auth::{check_key_id, format_hash, hash_of_key, new_key};
use serde_json::json;

use crate::exit::Failure;
use crate::output::{self, Format};

#[derive(Args, Debug)]
pub(super) struct NewKey {
    /// Name of the caller. For key rotation, use the same id for the new key: both are valid until the old one is
    /// removed
    #[arg(long, default_value = "caller", value_parser = id)]
    id: String,
    /// Output format: table prints the key to standard output and its section to standard error
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    output: Format,
}

/// The scopes in the printed section, which the operator should reduce.
const SCOPES: [&str; 4] = ["submit", "read", "inspect", "operate"];

pub(super) fn run(new: &NewKey) -> Result<(), Failure> {
    let key = new_key().map_err(|error| {
        anyhow::anyhow!("could not create a key: the random number generator of the operating system failed: {error}")
    })?;
    let hash = format_hash(&hash_of_key(key.as_bytes()));
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

/// A section that can be pasted into a configuration file.
fn section(id: &str, hash: &str) -> String {
    // For visible ASCII, JSON and TOML have the same escapes.
    let [id, scopes, hash] = [json!(id), json!(SCOPES), json!(hash)].map(|value| value.to_string());
    format!(
        "# The key is on standard output and stored nowhere. Add this to the configuration, narrowed to its purpose:\n\
         [[keys]]\nid = {id}\nsha256 = {hash}\nscopes = {scopes}\nbuckets = [\"*\"]"
    )
}

pub(super) fn id(text: &str) -> Result<String, String> {
    check_key_id(text).map(|()| text.to_owned())
}
