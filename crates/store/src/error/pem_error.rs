use std::fmt;

use rustls::pki_types::pem;

/// Why a PEM text can't be parsed. The parser's own message shows a part of the text as a list of numbers.
#[derive(Debug)]
pub struct PemError(pub pem::Error);

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            pem::Error::MissingSectionEnd { .. } => f.write_str("a block has no end; is the file complete?"),
            pem::Error::IllegalSectionStart { .. } => f.write_str("the first line of a block is malformed"),
            other => other.fmt(f),
        }
    }
}

impl std::error::Error for PemError {}
