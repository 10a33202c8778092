//! A change of settings as a request of the API.

use http::Method;
use serde_json::{Map, Value, json};

use super::wanted::Change;
use crate::dashboard::Dashboard;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// With a query, which may ask for a dry run.
pub(super) async fn send(
    page: &Dashboard,
    visitor: &Visitor,
    name: &str,
    changes: &[Change<'_>],
    query: &str,
) -> Result<(), Failure> {
    let mut patch = Map::new();
    for Change { setting, to, typed, .. } in changes {
        put(&mut patch, &setting.name, if typed.is_some() { to.clone() } else { Value::Null });
    }
    let path = format!("/v1/buckets/{}{query}", escaped(name));
    page.api().call(visitor, Method::PATCH, &path, Some(&Value::Object(patch))).await.map(drop)
}

/// `leak.rate` is a member of `leak`.
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
