//! Adds to the description of each operation which scopes a key needs for it.

use utoipa::openapi::path::Operation;

/// Operations that submit jobs, with what they do before.
const SUBMITTED_BY_OPERATORS: [&str; 3] = ["edit_dead_letter", "define_schedule", "run_schedule"];

/// Adds the sentence, unless no key is needed or each key is enough.
pub(super) fn describe(path: &str, method: &str, operation: &mut Operation) {
    let scopes = scopes(path, method, operation.operation_id.as_deref().unwrap_or_default());
    let scopes: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
    let sentence = match scopes.as_slice() {
        [] => return,
        [one] => format!("Needs the scope {one}."),
        several => format!("Needs the scopes {}.", several.join(" and ")),
    };
    operation.description = Some(match operation.description.take().filter(|text| !text.is_empty()) {
        Some(text) => format!("{text}\n\n{sentence}"),
        None => sentence,
    });
}

fn scopes(path: &str, method: &str, id: &str) -> &'static [&'static str] {
    match (method, path) {
        (_, "/livez" | "/readyz" | "/v1/key") => &[],
        (_, "/v1/audit") => &["keys"],
        (_, path) if path.starts_with("/v1/keys") => &["keys"],
        (_, path) if path.contains("/proxy/") => &["submit"],
        ("post", path) if ["/jobs", "/jobs/batch", "/check"].iter().any(|end| path.ends_with(end)) => &["submit"],
        ("get", _) => &["read"],
        ("put" | "delete", "/v1/buckets/{bucket}") => &["define"],
        _ if SUBMITTED_BY_OPERATORS.contains(&id) => &["operate", "submit"],
        _ => &["operate"],
    }
}
