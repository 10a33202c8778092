//! Style sheet, scripts and icon: compiled in, and cached until they change.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: &'static str,
    etag: HeaderValue,
}

type Assets = Arc<Vec<Asset>>;

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($name:literal, $type:expr) => {
        ($name, $type, include_str!(concat!("../assets/", $name)))
    };
}

const FILES: [(&str, &str, &str); 10] = [
    asset!("page.css", "text/css; charset=utf-8"),
    asset!("drop.svg", "image/svg+xml"),
    asset!("page.js", SCRIPT),
    asset!("live.js", SCRIPT),
    asset!("session.js", SCRIPT),
    asset!("morph.js", SCRIPT),
    asset!("times.js", SCRIPT),
    asset!("keys.js", SCRIPT),
    asset!("filter.js", SCRIPT),
    asset!("history.js", SCRIPT),
];

/// `/assets/…`, for everyone.
pub(crate) fn router() -> Router {
    Router::new().route("/assets/{name}", get(asset)).with_state(assets())
}

fn assets() -> Assets {
    let asset = |(name, media_type, content): (&'static str, &'static str, &'static str)| {
        let digest: String = Sha256::digest(content).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let etag = HeaderValue::try_from(format!("\"{digest}\"")).unwrap_or(HeaderValue::from_static("\"\""));
        Asset { name, media_type, content, etag }
    };
    Arc::new(FILES.into_iter().map(asset).collect())
}

async fn asset(State(assets): State<Assets>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(asset) = assets.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == asset.etag);
    let fields = HeaderMap::from_iter([
        (header::ETAG, asset.etag.clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type)),
    ]);
    if known { (StatusCode::NOT_MODIFIED, fields).into_response() } else { (fields, asset.content).into_response() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_together_are_small_and_refer_to_nobody_else() {
        let bytes: usize = FILES.iter().map(|(_, _, content)| content.len()).sum();
        assert!(bytes < 120_000, "{bytes}");
        for (name, _, content) in FILES {
            let addresses = content.replace("http://www.w3.org/", "");
            assert!(!addresses.contains("http://") && !addresses.contains("https://"), "{name}");
        }
    }
}
