//! Sends changes of settings to the API.

use http::{HeaderValue, Method};
use serde_json::{Map, Value, json};

use super::wanted::Change;
use crate::dashboard::Dashboard;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// Validates the changes without applying them.
pub(super) async fn try_out(
    page: &Dashboard,
    visitor: &Visitor,
    name: &str,
    changes: &[Change<'_>],
) -> Result<(), Failure> {
    let path = format!("{}?dry_run=true", path(name));
    page.api().call(visitor, Method::PATCH, &path, Some(&patch(changes))).await.map(drop)
}

/// Applies the changes if the bucket still has this version. Returns false otherwise.
pub(super) async fn send(
    page: &Dashboard,
    visitor: &Visitor,
    name: &str,
    version: Option<HeaderValue>,
    changes: &[Change<'_>],
) -> Result<bool, Failure> {
    page.api().change(visitor, &path(name), version, &patch(changes)).await
}

fn path(name: &str) -> String {
    format!("/v1/buckets/{}", escaped(name))
}

fn patch(changes: &[Change<'_>]) -> Value {
    let mut patch = Map::new();
    for Change { setting, to, typed, .. } in changes {
        put(&mut patch, &setting.name, if typed.is_some() { to.clone() } else { Value::Null });
    }
    Value::Object(patch)
}

/// Sets a member; `leak.rate` is a member of `leak`.
fn put(patch: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        Some((section, member)) => {
            let section = patch.entry(section).or_insert_with(|| json!({}));
            if let Some(section) = section.as_object_mut() {
                section.insert(member.to_owned(), value);
            }
        }
        None => {
            patch.insert(name.to_owned(), value);
        }
    }
}
