//! A limit of a single caller, or group, which overrides the limit of each.

use std::fmt;
use std::marker::PhantomData;

use dripfeed_job::Rate;
use dripfeed_job::rate::MAX_EXACT_INTEGER;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

/// The word for no limit. (An omitted value, or null, leaves another limit in force.)
pub const NO_LIMIT: &str = "none";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnLimit<T> {
    /// The limit of each.
    #[default]
    AsEach,
    None,
    Limit(T),
}

/// A type of limits, and how they are written in JSON.
pub trait Written: Copy {
    const EXPECTED: &str;

    fn of_number(number: u64) -> Option<Self>;

    /// # Errors
    /// A description of the fault, or `None` if a limit of this type is never a text.
    fn of_text(text: &str) -> Result<Self, Option<String>>;

    fn json(self) -> Json;
}

impl<T: Copy> OwnLimit<T> {
    pub(crate) fn over(self, of_each: Option<T>) -> Option<T> {
        match self {
            Self::AsEach => of_each,
            Self::None => None,
            Self::Limit(limit) => Some(limit),
        }
    }

    pub(crate) const fn is_limit(self) -> bool {
        matches!(self, Self::Limit(_))
    }
}

impl<T: Written> OwnLimit<T> {
    /// Returns `None` for the limit of each, which isn't written.
    pub(crate) fn to_json(self) -> Option<Json> {
        match self {
            Self::AsEach => None,
            Self::None => Some(NO_LIMIT.into()),
            Self::Limit(limit) => Some(limit.json()),
        }
    }
}

impl Written for Rate {
    const EXPECTED: &str = "a rate such as 10/s, or `none`";

    fn of_number(_: u64) -> Option<Self> {
        None
    }

    fn of_text(text: &str) -> Result<Self, Option<String>> {
        text.parse::<Self>().map_err(|error| Some(error.to_string()))
    }

    fn json(self) -> Json {
        self.to_string().into()
    }
}

/// A number of calls.
impl Written for u64 {
    const EXPECTED: &str = "a number from 1 to 2^53 - 1, or `none`";

    fn of_number(number: u64) -> Option<Self> {
        (1..MAX_EXACT_INTEGER).contains(&number).then_some(number)
    }

    fn of_text(_: &str) -> Result<Self, Option<String>> {
        Err(None)
    }

    fn json(self) -> Json {
        self.into()
    }
}

impl<'de, T: Written> Deserialize<'de> for OwnLimit<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OwnLimitVisitor(PhantomData))
    }
}

struct OwnLimitVisitor<T>(PhantomData<T>);

impl<T: Written> Visitor<'_> for OwnLimitVisitor<T> {
    type Value = OwnLimit<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_unit<E: Error>(self) -> Result<OwnLimit<T>, E> {
        Ok(OwnLimit::AsEach)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<OwnLimit<T>, E> {
        let unexpected = serde::de::Unexpected::Unsigned(number);
        T::of_number(number).map(OwnLimit::Limit).ok_or_else(|| E::invalid_value(unexpected, &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<OwnLimit<T>, E> {
        let unexpected = serde::de::Unexpected::Signed(number);
        let read = u64::try_from(number).ok().and_then(T::of_number);
        read.map(OwnLimit::Limit).ok_or_else(|| E::invalid_value(unexpected, &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OwnLimit<T>, E> {
        if text == NO_LIMIT {
            return Ok(OwnLimit::None);
        }
        let bad = |fault: Option<String>| match fault {
            Some(fault) => E::custom(format!("{fault}; use {NO_LIMIT} for no limit")),
            None => E::invalid_value(serde::de::Unexpected::Str(text), &self),
        };
        T::of_text(text).map(OwnLimit::Limit).map_err(bad)
    }
}
