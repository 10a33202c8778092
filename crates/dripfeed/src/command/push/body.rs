//! The body of a single job.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use dripfeed_bucket::LARGEST_BODY;
use dripfeed_job::size;
use serde_json::value::RawValue;

use crate::exit::Failure;
use crate::output;

/// `file`: `-` for standard input, which is the default.
pub(super) fn read(text: Option<String>, file: Option<PathBuf>) -> Result<Vec<u8>, Failure> {
    match (text, file) {
        (Some(text), _) => Ok(text.into_bytes()),
        (None, Some(file)) if file != Path::new("-") => {
            let name = file.display().to_string();
            match File::open(&file) {
                Ok(opened) => read_body(opened, &name),
                Err(error) => Err(anyhow::anyhow!("can't read {name}: {error}").into()),
            }
        }
        (None, _) => {
            if io::stdin().is_terminal() {
                output::say("reading the body from standard input; Ctrl-D ends it");
            }
            read_body(io::stdin(), "standard input")
        }
    }
}

/// Refuses a body that is larger than any intake can be configured to accept.
fn read_body(from: impl io::Read, name: &str) -> Result<Vec<u8>, Failure> {
    let (mut body, max) = (Vec::new(), LARGEST_BODY as u64);
    let read = from.take(max + 1).read_to_end(&mut body);
    read.map_err(|error| anyhow::anyhow!("can't read {name}: {error}"))?;
    if body.len() as u64 > max {
        return Err(anyhow::anyhow!("{name} has more than {}, which no intake takes", size::show(max)).into());
    }
    Ok(body)
}

pub(super) fn detect_content_type(body: &[u8]) -> &'static str {
    let is_json = serde_json::from_slice::<&RawValue>(body).is_ok();
    match std::str::from_utf8(body) {
        Ok(_) if is_json => "application/json",
        Ok(_) => "text/plain; charset=utf-8",
        Err(_) => "application/octet-stream",
    }
}
