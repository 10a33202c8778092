//! Deserializes quantities in text form, for `#[serde(deserialize_with = …)]`, with errors that name the expected form.

use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use dripfeed_bucket::{MaxShare, NO_LIMIT};
use dripfeed_job::rate::MAX_EXACT_INTEGER;
use dripfeed_job::{BucketName, Rate, duration, size};
use dripfeed_store::Address;
use ipnet::IpNet;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// Deserializes a table, or a list of tables.
pub(super) fn one_or_many<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_any(OneOrMany(PhantomData))
}

/// Deserializes a bucket's name.
pub(super) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<BucketName, D::Error> {
    let text = from.deserialize_any(Text("the name of a bucket"))?;
    text.parse().map_err(Error::custom)
}

struct OneOrMany<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table or a list of tables")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
        Ok(vec![T::deserialize(MapAccessDeserializer::new(map))?])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq))
    }
}

/// Deserializes a whole number of 1 or more.
pub(super) fn one_or_more<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    let n = from.deserialize_any(Whole { least: 1 })?;
    T::try_from(n).map_err(|_| out_of_range(n, max_of::<T>()))
}

/// Deserializes a whole number. 0 means `None`.
pub(super) fn zero_is_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let n = from.deserialize_any(Whole { least: 0 })?;
    Ok(Some(n).filter(|n| *n > 0))
}

/// Deserializes a duration.
pub(super) fn time_or_zero<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = from.deserialize_any(Text("a duration with its unit in quotes, such as \"10s\""))?;
    duration::parse(&text).map_err(Error::custom)
}

/// Deserializes a duration above zero.
pub(super) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let time = time_or_zero(from)?;
    if time.is_zero() { Err(Error::custom("must be above zero")) } else { Ok(time) }
}

/// Deserializes a size above zero, in bytes.
pub(super) fn size<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    let bytes = size_or_zero(from)?;
    if bytes == 0 {
        return Err(Error::custom("must be above zero"));
    }
    T::try_from(bytes).map_err(|_| out_of_range(bytes, max_of::<T>()))
}

/// Deserializes a size, in bytes.
pub(super) fn size_or_zero<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = from.deserialize_any(Text("a size with its unit in quotes, such as \"64KiB\""))?;
    size::parse(&text).map_err(Error::custom)
}

/// Deserializes an address and a port.
pub(super) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    parse_address(&address_text(from)?)
}

/// Deserializes an address and a port. An empty text means `None`.
pub(super) fn address_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = address_text(from)?;
    if text.is_empty() { Ok(None) } else { parse_address(&text).map(Some) }
}

fn address_text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    from.deserialize_any(Text("an address with a port in quotes, such as \"127.0.0.1:7180\""))
}

fn parse_address<E: Error>(text: &str) -> Result<SocketAddr, E> {
    let bad = |_| E::custom(format!("`{}` is not an address with a port, such as 127.0.0.1:7180", text.escape_debug()));
    text.parse().map_err(bad)
}

/// Deserializes a network, or a single address.
pub(super) fn network<'de, D: Deserializer<'de>>(from: D) -> Result<IpNet, D::Error> {
    let text = from.deserialize_any(Text("a network in quotes, such as \"10.0.0.0/8\""))?;
    let bad = |_| Error::custom(format!("`{}` is not a network, such as 10.0.0.0/8", text.escape_debug()));
    text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).map_err(bad)
}

/// Deserializes the URL of Redis.
pub(super) fn redis_url<'de, D: Deserializer<'de>>(from: D) -> Result<Address, D::Error> {
    parsed(from, "a URL in quotes, such as \"redis://127.0.0.1:6379\"")
}

/// Deserializes a rate. An empty text means `None`.
pub(super) fn rate_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Rate>, D::Error> {
    empty_is_none(from, "a rate in quotes, such as \"10/s\"")
}

/// Deserializes a share of the capacity. An empty text means `None`, all of it.
pub(super) fn share_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<MaxShare>, D::Error> {
    empty_is_none(from, "a share in quotes, such as \"25%\" or \"free\"")
}

/// Deserializes a text that is parsed.
pub(super) fn parsed<'de, D, T>(from: D, expected: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    from.deserialize_any(Text(expected))?.parse().map_err(Error::custom)
}

/// A text that is parsed. An empty text means `None`.
fn empty_is_none<'de, D, T>(from: D, expected: &'static str) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    let text = from.deserialize_any(Text(expected))?;
    if text == NO_LIMIT {
        return Err(not_in_configuration("\"\""));
    }
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(Error::custom) }
}

/// The error about `NO_LIMIT`, which only changes at run time accept. `none`: the text for it in a configuration.
fn not_in_configuration<E: Error>(none: &str) -> E {
    E::custom(format!("`{NO_LIMIT}` is for changes at run time: leave it out for no limit, or use {none}"))
}

fn out_of_range<E: Error>(n: u64, max: u64) -> E {
    E::custom(format!("{n} is too large: use at most {max}"))
}

/// The largest number of an unsigned type.
fn max_of<T: TryFrom<u64>>() -> u64 {
    let mut maximums = (0..u64::BITS).map(|unused| u64::MAX >> unused);
    maximums.find(|max| T::try_from(*max).is_ok()).unwrap_or_default()
}

struct Whole {
    least: u64,
}

impl Visitor<'_> for Whole {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number, {} or more", self.least)
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<u64, E> {
        match n {
            _ if n < self.least => Err(E::invalid_value(Unexpected::Unsigned(n), &self)),
            // Lua scripts use doubles.
            MAX_EXACT_INTEGER.. => Err(out_of_range(n, MAX_EXACT_INTEGER - 1)),
            _ => Ok(n),
        }
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<u64, E> {
        u64::try_from(n).map_err(|_| E::invalid_value(Unexpected::Signed(n), &self)).and_then(|n| self.visit_u64(n))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        if self.least == 0 && text == NO_LIMIT {
            return Err(not_in_configuration("0"));
        }
        Err(E::invalid_type(Unexpected::Str(text), &self))
    }
}

struct Text(&'static str);

impl Visitor<'_> for Text {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}
