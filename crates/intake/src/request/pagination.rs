//! Query parameters, and pages of a list with cursors.

use std::error::Error as _;
use std::str::FromStr;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use axum::response::{IntoResponse, Response};
use dripfeed_bucket::{Cursor, Page, TimeWindow};
use dripfeed_job::redaction::Redaction;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::problem::{Code, FaultPlace, Problem};
use crate::request::time;

pub(crate) const MOST_ITEMS: usize = 1000;
const ITEMS: usize = 100;

/// Query parameters. Unknown ones are refused, because a misspelt filter must not list everything.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Intake> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, intake: &Intake) -> Result<Self, Problem> {
        Query::from_request_parts(parts, intake)
            .await
            .map(|Query(params)| Self(params))
            .map_err(|rejection| Problem::new(Code::BadQuery, what_is_wrong(&rejection)))
    }
}

/// For an operation without query parameters. All are refused, because an unsupported filter must not seem to work.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// The reason without axum's and serde's prefixes, which describe their internals.
pub(crate) fn what_is_wrong(rejection: &QueryRejection) -> String {
    let why = rejection.source().map_or_else(|| rejection.body_text(), ToString::to_string);
    let why = ["unknown", "duplicate", "missing"]
        .iter()
        .fold(why, |why, word| why.replace(&format!("{word} field"), &format!("{word} parameter")));
    why.replace(", there are no fields", "; this operation has no parameters")
}

/// An invalid parameter.
pub(crate) fn bad(name: &str, reason: impl std::fmt::Display) -> Problem {
    let place = FaultPlace { member: Some(name.to_owned()), ..FaultPlace::default() };
    Problem::new(Code::BadQuery, format!("{name}: {reason}")).at(place)
}

/// A parameter parsed by a function.
pub(crate) fn param<T>(
    name: &str,
    text: Option<&str>,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, Problem> {
    text.map(|text| read(text).map_err(|reason| bad(name, reason))).transpose()
}

/// A parameter parsed by its type.
pub(crate) fn parsed<T: FromStr<Err: std::fmt::Display>>(name: &str, text: Option<&str>) -> Result<Option<T>, Problem> {
    param(name, text, |text| text.parse().map_err(|error: T::Err| error.to_string()))
}

/// A time: milliseconds since the epoch.
pub(crate) fn time_ms(name: &str, text: Option<&str>) -> Result<Option<u64>, Problem> {
    param(name, text, time::read)
}

/// The window from `since` to `until`.
pub(crate) fn window(since: Option<&str>, until: Option<&str>) -> Result<TimeWindow, Problem> {
    Ok(TimeWindow { since_ms: time_ms("since", since)?, until_ms: time_ms("until", until)? })
}

pub(crate) fn limit(text: Option<&str>) -> Result<usize, Problem> {
    let limit = param("limit", text, |text| {
        let limit = text.parse().ok().filter(|limit| (1..=MOST_ITEMS).contains(limit));
        limit.ok_or_else(|| format!("use 1 to {MOST_ITEMS}"))
    })?;
    Ok(limit.unwrap_or(ITEMS))
}

/// The start of the page.
pub(crate) fn cursor(text: Option<&str>) -> Result<Option<Cursor>, Problem> {
    parsed("cursor", text)
}

/// A page as a response, with the next page in `next` and `Link`.
pub(crate) fn answer<T, S: Serialize>(uri: &Uri, page: Page<T>, show: impl FnMut(T) -> S) -> Response {
    let next = page.next.map(|cursor| cursor.to_string());
    let link = next.as_deref().map(|next| link(uri, next));
    let items = page.items.into_iter().map(show).collect();
    (link.into_iter().collect::<HeaderMap>(), Json(List { items, next })).into_response()
}

/// Returns the redaction of the settings, if `redacted` asks for masked payloads.
pub(crate) fn mask<'i>(intake: &'i Intake, redacted: Option<&str>) -> Result<Option<&'i Redaction>, Problem> {
    Ok(parsed::<bool>("redacted", redacted)?.unwrap_or(false).then_some(&intake.settings().redaction))
}

/// As [`answer`], for items with payloads, which are masked by `mask`.
pub(crate) fn masked_answer<T, S: Serialize>(
    uri: &Uri,
    page: Page<T>,
    mask: Option<&Redaction>,
    mut show: impl FnMut(T) -> S,
) -> Response {
    let Some(mask) = mask else { return answer(uri, page, show) };
    answer(uri, page, |item| {
        let mut item = serde_json::to_value(show(item)).unwrap_or_default();
        mask.mask_item(&mut item);
        item
    })
}

#[derive(Serialize, ToSchema)]
pub(crate) struct List<T> {
    pub(crate) items: Vec<T>,
    /// The cursor of the next page; null on the last.
    #[schema(required)]
    pub(crate) next: Option<String>,
}

/// `Link` to the next page.
pub(crate) fn link(uri: &Uri, cursor: &str) -> (HeaderName, HeaderValue) {
    let others = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<String> = others.filter(|pair| !pair.starts_with("cursor=")).map(str::to_owned).collect();
    pairs.push(format!("cursor={cursor}"));
    let link = format!("<{}?{}>; rel=\"next\"", uri.path(), pairs.join("&"));
    (header::LINK, HeaderValue::try_from(link).unwrap_or(HeaderValue::from_static("")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn an_unknown_parameter_is_named_as_one() {
        let uri = "/v1/services?limit=1".parse().unwrap();
        let rejection = Query::<NoParams>::try_from_uri(&uri).err().unwrap();
        let expected = "limit: unknown parameter `limit`; this operation has no parameters";
        assert_eq!(what_is_wrong(&rejection), expected);
    }

    #[test]
    fn a_limit_is_within_bounds() {
        assert_eq!(limit(None).unwrap(), 100);
        assert_eq!(limit(Some("1000")).unwrap(), 1000);
        for text in ["", "0", "-1", "1001", "1000000000", "ten", "1.5", "99999999999999999999999"] {
            assert_eq!(limit(Some(text)).unwrap_err().code(), Code::BadQuery, "{text}");
        }
    }

    #[test]
    fn the_link_keeps_the_filters() {
        let uri = "/v1/buckets/b/jobs?state=parked&cursor=old&limit=5".parse().unwrap();
        let (_, value) = link(&uri, "new");
        assert_eq!(value, "</v1/buckets/b/jobs?state=parked&limit=5&cursor=new>; rel=\"next\"");
    }
}
