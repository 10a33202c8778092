//! `[trace]`

use std::fmt;

use dripfeed_job::port;
use http::Uri;
use http::uri::PathAndQuery;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

use super::read::Reader;

/// The default path of OTLP/HTTP for spans.
const PATH: &str = "/v1/traces";

/// The settings of the export of traces.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "a build without the exporter refuses them"))]
pub(crate) struct TraceSettings {
    pub(crate) endpoint: Uri,
    /// The ratio of submissions without a `traceparent` that are traced, from 0 to 1.
    pub(crate) sampling: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Section {
    #[serde(deserialize_with = "endpoint")]
    endpoint: Option<Uri>,
    #[serde(deserialize_with = "ratio")]
    sampling: f64,
}

/// The inner `Option` is `None` if traces are off.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<Option<TraceSettings>> {
    let Section { endpoint, sampling } = reader.section("trace")?;
    let Some(endpoint) = endpoint else { return Some(None) };
    if !cfg!(feature = "otlp") {
        let message = "this build can't export traces: leave it empty, or build with `--features otlp`";
        reader.error(&["trace".into(), "endpoint".into()], message);
        return None;
    }
    Some(Some(TraceSettings { endpoint, sampling }))
}

fn endpoint<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Uri>, D::Error> {
    let text = String::deserialize(from)?;
    if text.is_empty() {
        return Ok(None);
    }
    let bad = || format!("`{}` is not an OTLP/HTTP address, such as http://127.0.0.1:4318", text.escape_debug());
    let uri: Uri = text.parse().map_err(|_| D::Error::custom(bad()))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || !port::is_usable(&uri) {
        return Err(D::Error::custom(bad()));
    }
    let mut parts = uri.into_parts();
    if parts.path_and_query.as_ref().is_none_or(|path| path == "/") {
        parts.path_and_query = Some(PathAndQuery::from_static(PATH));
    }
    Uri::from_parts(parts).map(Some).map_err(|_| D::Error::custom(bad()))
}

fn ratio<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    from.deserialize_any(Ratio)
}

struct Ratio;

impl Visitor<'_> for Ratio {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 0 to 1, such as 0.01")
    }

    fn visit_f64<E: Error>(self, ratio: f64) -> Result<f64, E> {
        let is_ratio = (0.0..=1.0).contains(&ratio);
        if is_ratio { Ok(ratio) } else { Err(E::invalid_value(Unexpected::Float(ratio), &self)) }
    }

    fn visit_u64<E: Error>(self, ratio: u64) -> Result<f64, E> {
        self.visit_i64(i64::try_from(ratio).unwrap_or(i64::MAX))
    }

    fn visit_i64<E: Error>(self, ratio: i64) -> Result<f64, E> {
        match ratio {
            0 => Ok(0.0),
            1 => Ok(1.0),
            _ => Err(E::invalid_value(Unexpected::Signed(ratio), &self)),
        }
    }
}
