//! Generates a random key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The prefix by which secret scanners find keys that leaked into a log or a repository.
const PREFIX: &str = "dripfeed_";
/// 256 bits.
const RANDOM_BYTES: usize = 32;

/// Generates a key.
///
/// # Errors
/// When the operating system's random number generator fails.
pub fn new_key() -> Result<String, getrandom::Error> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random)?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random)))
}
