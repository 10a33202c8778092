//! Parses `redis.url` into an [`Address`].

mod address;
mod error;
mod parts;
mod tls_files;

use std::str::FromStr;

pub use self::address::Address;
pub(crate) use self::address::{Deployment, HostPort, Login, Route, Sentinels, Tls};
pub use self::error::AddressError;
use self::parts::UrlParts;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(url: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = url.split_once("://").ok_or(AddressError::NoScheme)?;
        if rest.contains('#') {
            return Err(AddressError::Fragment);
        }
        let mut parts = UrlParts::split(rest)?;
        let mut address = match scheme {
            "redis" | "rediss" => parts.tcp(),
            "unix" | "redis+unix" => parts.unix(),
            "redis+sentinel" | "rediss+sentinel" => parts.sentinel(),
            "redis+cluster" | "rediss+cluster" => parts.cluster(),
            other => Err(AddressError::UnknownScheme(other.to_owned())),
        }?;
        if scheme.starts_with("rediss") {
            address.tls = Some(parts.tls()?);
        }
        parts.refuse_unused()?;
        Ok(address)
    }
}

#[cfg(test)]
mod tests;
