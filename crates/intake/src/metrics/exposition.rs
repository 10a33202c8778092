//! The two formats of metrics, and the choice between them by `Accept`.

use std::fmt;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::prometheus_text::prometheus_text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exposition {
    /// The default, which every scraper can read.
    PrometheusText,
    OpenMetrics,
}

impl Exposition {
    /// Selects OpenMetrics if `Accept` names it with at least the weight of text.
    pub(crate) fn wanted(headers: &HeaderMap) -> Self {
        // The most specific range that includes text counts.
        let (mut openmetrics, mut text) = (0, (0, 0));
        let ranges = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for (range, quality) in ranges.flat_map(|value| value.split(',')).filter_map(media_range) {
            match range.to_ascii_lowercase().as_str() {
                "application/openmetrics-text" => openmetrics = openmetrics.max(quality),
                "text/plain" => text = text.max((2, quality)),
                "text/*" => text = text.max((1, quality)),
                "*/*" => text = text.max((0, quality)),
                _ => {}
            }
        }
        if openmetrics > 0 && openmetrics >= text.1 { Self::OpenMetrics } else { Self::PrometheusText }
    }

    pub(crate) const fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::PrometheusText => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        })
    }

    /// # Errors
    /// When a metric can't be encoded.
    pub(crate) fn encode(self, registry: &Registry) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, registry)?;
        Ok(if self == Self::OpenMetrics { text } else { prometheus_text(&text) })
    }
}

/// Returns a media type and its weight in thousandths, or `None` for a version that isn't exported.
fn media_range(range: &str) -> Option<(&str, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let (media_type, mut quality) = (parts.next()?, 1000);
    for (name, value) in parts.filter_map(|parameter| parameter.split_once('=')) {
        match (name.trim().to_ascii_lowercase().as_str(), value.trim().trim_matches('"')) {
            ("q", value) => quality = thousandths(value)?,
            // 0.0.1 is a draft of OpenMetrics 1.0.0; scrapers that ask for it can read 1.0.0.
            ("version", version) if !["1.0.0", "0.0.4", "0.0.1"].contains(&version) => return None,
            _ => {}
        }
    }
    Some((media_type, quality))
}

/// Parses a weight from 0 to 1 with at most three decimals.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, part) = weight.split_once('.').unwrap_or((weight, ""));
    let thousandths: u16 = if part.is_empty() { 0 } else { format!("{part:0<3}").parse().ok()? };
    match (whole, thousandths) {
        ("1", 0) => Some(1000),
        ("0", 0..1000) if part.len() <= 3 => Some(thousandths),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::Exposition::{self, OpenMetrics, PrometheusText};
    use super::*;

    #[test]
    fn a_scrape_gets_the_form_that_it_wants_more() {
        for (accept, wanted) in [
            ("", PrometheusText),
            ("*/*", PrometheusText),
            ("text/plain", PrometheusText),
            ("application/json", PrometheusText),
            ("application/openmetrics-text", OpenMetrics),
            ("Application/OpenMetrics-Text; Version=\"1.0.0\"; Q=0.5", OpenMetrics),
            ("application/openmetrics-text;version=0.0.1", OpenMetrics),
            ("application/openmetrics-text;version=2.0.0", PrometheusText),
            ("application/openmetrics-text;q=0", PrometheusText),
            ("application/openmetrics-text;q=0.5,text/plain", PrometheusText),
            ("application/openmetrics-text;q=0.05,text/plain;q=0.1", PrometheusText),
            ("application/openmetrics-text;q=nonsense", PrometheusText),
            ("application/openmetrics-text;q=0.5,text/plain;q=0.2,*/*;q=0.8", OpenMetrics),
            ("application/openmetrics-text;q=0.5,text/*;q=0,*/*", OpenMetrics),
            ("application/openmetrics-text;q=0.5,*/*;q=0.8", PrometheusText),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
              text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OpenMetrics,
            ),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
              application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
              text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                OpenMetrics,
            ),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(accept).unwrap())]);
            assert_eq!(Exposition::wanted(&headers), wanted, "{accept}");
        }
        assert_eq!(Exposition::wanted(&HeaderMap::new()), PrometheusText);
    }
}
