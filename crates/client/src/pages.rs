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

const MAX_PAGE_ITEMS: usize = 1000;

/// Reads a list page by page, in bounded memory.
#[derive(Clone, Debug)]
pub struct Pages<'a> {
    client: &'a Client,
    path: &'a str,
    filters: &'a [(&'a str, String)],
    /// Maximum number of items to return from now on.
    left: usize,
    /// The cursor of the next page: `Some(None)` for the first page, `None` after the last.
    cursor: Option<Option<String>>,
    retries: Retries,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Json>,
    next: Option<String>,
}

impl Client {
    /// Reads a list, such as `/v1/buckets/tigerfeeding/jobs` with `[("state", "parked")]`, up to `most` items. The
    /// client's retries apply to each page.
    #[must_use]
    pub const fn list<'a>(&'a self, path: &'a str, filters: &'a [(&'a str, String)], most: usize) -> Pages<'a> {
        Pages { client: self, path, filters, left: most, cursor: Some(None), retries: self.retries }
    }
}

impl Pages<'_> {
    /// Replaces the retries of the following pages.
    pub const fn retry(&mut self, retries: Retries) {
        self.retries = retries;
    }

    /// Reads the next page. Returns `None` at the end. Cancel safe: a page whose read was dropped is read again.
    ///
    /// # Errors
    /// When the call is refused, or gets no answer within the retries. The next call tries the same page again.
    pub async fn next(&mut self) -> Result<Option<Vec<Json>>, ClientError> {
        let Some(cursor) = self.cursor.clone().filter(|_| self.left > 0) else { return Ok(None) };
        let mut query: Vec<_> = self.filters.iter().map(|(name, value)| (*name, value.clone())).collect();
        query.push(("limit", self.left.min(MAX_PAGE_ITEMS).to_string()));
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let path = format!("{}?{}", self.path, encoded(&query));
        let get = |time, _| self.client.call_within(time, Method::GET, &path, HeaderMap::new(), Bytes::new());
        let Page { items, next } = self.retries.run(Duration::ZERO, |_| true, get).await?.json()?;
        self.left = self.left.saturating_sub(items.len());
        self.cursor = next.map(Some);
        Ok(Some(items))
    }
}

fn encoded(query: &[(&str, String)]) -> String {
    query.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&")
}
