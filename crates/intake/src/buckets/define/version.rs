//! Checks `If-Match` against the version of a definition.

use dripfeed_bucket::Definition;

use crate::problem::{Code, Problem};
use crate::request::if_match::IfMatch;

pub(super) fn check(if_match: &IfMatch, definition: Option<&Definition>) -> Result<(), Problem> {
    if if_match.allows(definition.map(|definition| definition.version)) {
        return Ok(());
    }
    let detail = match definition {
        Some(definition) => format!("the current version is \"{}\"; GET the definition again", definition.version),
        None => "the bucket doesn't exist; omit If-Match to create it".to_owned(),
    };
    Err(Problem::new(Code::DefinitionChanged, detail))
}
