//! Prints what a command did to how many items.

use std::io;

use dripfeed_job::pluralize;
use serde_json::Value as Json;

use crate::output::{self, Format};

/// Prints the document, or a sentence such as `2 jobs cancelled`. The member `member` of the document is the number,
/// and its name says what was done.
pub(super) fn print(document: &Json, member: &str, what: &str, format: Format) -> io::Result<()> {
    match format {
        Format::Json => output::json(document),
        Format::Table => {
            let count = document[member].as_u64().unwrap_or(0);
            output::line(format!("{} {member}", pluralize(count, what)))
        }
    }
}
