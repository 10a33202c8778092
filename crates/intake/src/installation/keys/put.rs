//! `PUT /v1/keys/{id}`: creates or changes a key.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use dripfeed_auth::{Caller, ChangeKeys, NewKey, PutKeyResult, RunTimeKey, Scope};
use http::{HeaderMap, StatusCode};

use super::change::{self, TRIES};
use super::document::{KeyDocument, WantedKey};
use super::shown::{MadeKey, ShownKey, answer};
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::{Allowed, KeyInPath, check_current};
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::json;
use crate::request::pagination::{NoParams, Params};
use crate::request::preconditions::Preconditions;

/// Creates or changes a key. A new key is valid at every intake at once, because an intake looks up an unknown key
/// before it refuses it; a change reaches all intakes within a second. A key can't have more permissions than the
/// caller's key.
#[utoipa::path(
    put, path = "/v1/keys/{id}", tag = "installation",
    params(parameters::Key, parameters::IfMatch, parameters::IfNoneMatch),
    request_body = KeyDocument,
    responses(
        (status = 200, description = "The changed key", body = MadeKey),
        (status = 201, description = "The new key", body = MadeKey),
        responses::OfNewKey
    )
)]
pub(crate) async fn put_key(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<ChangeKeys>,
    _: Params<NoParams>,
    KeyInPath(id): KeyInPath,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    change::registry(&intake, &caller)?;
    change::check_configured(&intake, &id)?;
    let preconditions = Preconditions::of(&headers)?;
    let body = body::read(Sender { caller: &caller, address }, body, &intake).await?;
    if body.len() > NewKey::LONGEST {
        return Err(Problem::new(Code::BodyTooLarge, format!("a key may have at most {} bytes", NewKey::LONGEST)));
    }
    let document = body::parse(body, |body| json::read::<KeyDocument>(body)).await?;
    let stored = store(&intake, &caller, &id, &document, &preconditions).await?;
    // The key is stored, and only this response has its secret. So it is sent even if Redis can't be asked now.
    intake.keys().follow_or_log().await;
    let shown = ShownKey::of(&stored.after, intake.keys().now_ms());
    let mut response = answer(&stored.after, &MadeKey { shown, key: stored.made });
    if stored.is_new {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(response)
}

struct StoredKey {
    is_new: bool,
    after: RunTimeKey,
    /// The secret key as text, if it was generated.
    made: Option<String>,
}

async fn store(
    intake: &Intake,
    caller: &Caller,
    id: &str,
    document: &KeyDocument,
    preconditions: &Preconditions,
) -> Result<StoredKey, Problem> {
    let (registry, by) = change::registry(intake, caller)?;
    for _ in 0..TRIES {
        let known = change::find(intake, caller, id).await?;
        preconditions.check("key", known.as_ref().map(|known| known.version))?;
        if known.is_none() && intake.keys().run_time_keys().contains_key(id) {
            let detail = "the existing key with this id has more permissions than yours; use another id";
            return Err(Problem::new(Code::Forbidden, detail));
        }
        let before = known.as_ref().map(|known| known.key.sha256);
        let wanted = document.wanted(id, before, intake.keys().now_ms())?;
        check(intake, caller, &wanted)?;
        let detail = describe(&wanted, known.as_deref());
        let known_version = known.as_ref().map(|known| known.version);
        // The caller's key may have been revoked while Redis was asked.
        check_current(caller, intake)?;
        let WantedKey { key, not_after_ms, made } = wanted;
        let new = NewKey { key: &key, not_after_ms, known: known_version, by, detail: &detail };
        match registry.put(&new).await? {
            PutKeyResult::Done(version) => {
                let is_new = known.is_none();
                tracing::info!(id, key = by, action = if is_new { "create" } else { "change" }, detail, "audit");
                let after = RunTimeKey { key: Arc::new(key), not_after_ms, version, by: by.to_owned() };
                return Ok(StoredKey { is_new, after, made });
            }
            PutKeyResult::Changed => {}
            PutKeyResult::KnownHash => return Err(known_hash()),
            full => return Err(too_many(full)),
        }
    }
    Err(change::contended())
}

fn check(intake: &Intake, caller: &Caller, wanted: &WantedKey) -> Result<(), Problem> {
    if let Some(what) = caller.missing_permission(&wanted.key, wanted.not_after_ms) {
        return Err(Problem::new(
            Code::Forbidden,
            format!("a key can't have more permissions than the key that creates it: {what}"),
        ));
    }
    if intake.keys().is_configured_hash(&wanted.key.sha256) {
        return Err(known_hash());
    }
    Ok(())
}

fn known_hash() -> Problem {
    Problem::bad_member("sha256", "sha256: another key has this hash; generate a new key")
}

fn too_many(full: PutKeyResult) -> Problem {
    let detail = match full {
        PutKeyResult::ManyKeys => "the number of keys is at its maximum of 10,000; delete some first",
        _ => "the key, or all keys together, would be too large; use patterns, or delete some keys first",
    };
    Problem::new(Code::ManyKeys, detail)
}

/// Describes the change for the audit log: the permissions of a new key, or the changed members.
fn describe(wanted: &WantedKey, before: Option<&RunTimeKey>) -> String {
    let key = &wanted.key;
    let Some(before) = before else {
        let scopes: Vec<&str> = key.scopes.iter().copied().map(Scope::as_str).collect();
        let detail = format!("scopes: {}; buckets: {}", scopes.join(", "), key.buckets.to_strings().join(", "));
        return detail.chars().take(MAX_DETAIL).collect();
    };
    let members = [
        ("scopes", key.scopes != before.key.scopes),
        ("buckets", key.buckets != before.key.buckets),
        ("services", key.services != before.key.services),
        ("priority", key.priority != before.key.priority),
        ("not_after", wanted.not_after_ms != before.not_after_ms),
        ("sha256", key.sha256 != before.key.sha256),
    ];
    let changed: Vec<&str> = members.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect();
    if changed.is_empty() { "as before".to_owned() } else { format!("changed: {}", changed.join(", ")) }
}

/// Maximum length of the detail in the audit log, in characters.
const MAX_DETAIL: usize = 300;
