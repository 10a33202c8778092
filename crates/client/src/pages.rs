//! Paginated lists.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::escaped;
use crate::client::Client;
use crate::client_error::ClientError;
use crate::retries::Retries;

const LARGEST_PAGE: usize = 1000;

/// Reads a list page by page, in bounded memory.
#[derive(Clone, Debug)]
pub struct Pages<'a> {
    client: &'a Client,
    path: &'a str,
    filters: &'a [(&'a str, String)],
    /// The most items that are still wanted.
    left: usize,
    /// The cursor of the next page, which the first one doesn't have; None: that was the last.
    from: Option<Option<String>>,
    retries: Retries,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Json>,
    next: Option<String>,
}

impl Client {
    /// A list, such as `/v1/buckets/tigerfeeding/jobs` with `[("state", "parked")]`, up to `most` items. The retries
    /// are those of each page.
    #[must_use]
    pub const fn list<'a>(&'a self, path: &'a str, filters: &'a [(&'a str, String)], most: usize) -> Pages<'a> {
        Pages { client: self, path, filters, left: most, from: Some(None), retries: self.retries }
    }
}

impl Pages<'_> {
    /// With other retries of each page that follows.
    pub const fn retry(&mut self, retries: Retries) {
        self.retries = retries;
    }

    /// The next page; None at the end. May be dropped at any time.
    ///
    /// # Errors
    /// When the call is refused, or gets no answer within the retries: then this page is the next one again.
    pub async fn next(&mut self) -> Result<Option<Vec<Json>>, ClientError> {
        let Some(cursor) = self.from.clone().filter(|_| self.left > 0) else { return Ok(None) };
        let mut query: Vec<_> = self.filters.iter().map(|(name, value)| (*name, value.clone())).collect();
        query.push(("limit", self.left.min(LARGEST_PAGE).to_string()));
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let path = format!("{}?{}", self.path, encoded(&query));
        let get = |time, _| self.client.call_within(time, Method::GET, &path, HeaderMap::new(), Bytes::new());
        let Page { items, next } = self.retries.run(Duration::ZERO, |_| true, get).await?.json()?;
        self.left = self.left.saturating_sub(items.len());
        self.from = next.map(Some);
        Ok(Some(items))
    }
}

fn encoded(query: &[(&str, String)]) -> String {
    query.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&")
}
