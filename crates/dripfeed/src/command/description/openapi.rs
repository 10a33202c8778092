//! `dripfeed openapi`

use crate::exit::Failure;
use crate::output;

pub(in crate::command) fn run() -> Result<(), Failure> {
    Ok(output::json(&dripfeed_intake::openapi())?)
}
