//! A job as a curl command that submits it again.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::model::job::JobPayload;
use crate::parts::teach;
use crate::web::identity::Visitor;
use dripfeed_job::redaction::{RedactedText, Redaction};

/// A longer payload would make the page long, and an argument that shells refuse.
const MAX_PAYLOAD_BYTES: usize = 64 * 1024;

/// The command, with redacted values masked. `None` if the payload isn't shown, is truncated, or is too long for a
/// command.
pub(crate) fn of(redaction: &Redaction, visitor: &Visitor, bucket: &str, job: &JobPayload) -> Option<String> {
    if job.truncated {
        return None;
    }
    let url = format!("{}/v1/buckets/{bucket}/jobs{}", visitor.api.origin(), teach::key(visitor));
    let fields = fields(job);
    let of_bytes = |base64: &str| format!("printf %s {base64} | base64 -d | curl {url}{fields} --data-binary @-");
    let of_text = |body: &str| {
        // HTML and command lines can't contain these unchanged.
        if body.contains(['\0', '\r']) {
            return of_bytes(&STANDARD.encode(body));
        }
        format!("curl {url}{fields} --data-raw {}", quoted(body))
    };
    let (text, base64) = (job.body.as_deref().unwrap_or_default(), job.body_base64.as_deref());
    if base64.unwrap_or(text).len() > MAX_PAYLOAD_BYTES {
        return None;
    }
    let shown = if base64.is_some() { redaction.redact_bytes() } else { redaction.redact_text(text) };
    let command = match shown {
        RedactedText::Whole => base64.map_or_else(|| of_text(text), of_bytes),
        RedactedText::Masked(masked) => of_text(&masked),
        RedactedText::Hidden => return None,
    };
    Some(command).filter(|command| command.len() <= MAX_PAYLOAD_BYTES)
}

fn fields(job: &JobPayload) -> String {
    let content_type = job.content_type.as_ref().map_or_else(
        // Removes curl's default, which is a form.
        || " -H 'Content-Type:'".to_owned(),
        |content_type| header("content-type", content_type),
    );
    let own = [("Dripfeed-Method".to_owned(), job.method.as_ref()), ("Dripfeed-Path".to_owned(), job.path.as_ref())];
    let forwarded = job.headers.iter().flatten();
    let forwarded = forwarded.map(|header| (format!("Dripfeed-Forward-{}", header.name), Some(&header.value)));
    let headers = own.into_iter().chain(forwarded).filter_map(|(name, value)| Some((name, value?)));
    let headers = headers.map(|(name, value)| header(&name, value));
    std::iter::once(content_type).chain(headers).collect()
}

/// An empty header ends with a semicolon, as curl omits one with a colon.
fn header(name: &str, value: &str) -> String {
    let header = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
    format!(" -H {}", quoted(&header))
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use serde_json::json;

    use super::*;
    use crate::web::identity::Permissions;

    #[test]
    fn a_command_submits_a_job_as_it_was_submitted() {
        let mut job = json!({
            "content_type": null, "body": "x", "body_base64": null, "method": null, "path": null, "headers": null,
        });
        let permissions: Permissions =
            serde_json::from_value(json!({ "id": "ops", "scopes": [], "all_buckets": true })).unwrap();
        let visitor = Visitor { permissions, ..Visitor::default() };
        let command = |job: &serde_json::Value, visitor: &Visitor| {
            of(&Redaction::default(), visitor, "b", &serde_json::from_value(job.clone()).unwrap()).unwrap()
        };
        let key = " -H \"Dripfeed-Key: $KEY\"";
        let untyped = format!("curl /v1/buckets/b/jobs{key} -H 'Content-Type:' --data-raw 'x'");
        assert_eq!(command(&job, &visitor), untyped);
        job["content_type"] = "a/b".into();
        let typed = "curl /v1/buckets/b/jobs -H 'content-type: a/b' --data-raw 'x'";
        assert_eq!(command(&job, &Visitor::default()), typed);
        job["headers"] = json!([{ "name": "x-empty", "value": "" }, { "name": "x", "value": "y" }]);
        let headers = "-H 'content-type: a/b' -H 'Dripfeed-Forward-x-empty;' -H 'Dripfeed-Forward-x: y'";
        assert!(command(&job, &Visitor::default()).contains(headers), "{}", command(&job, &Visitor::default()));
    }

    #[test]
    fn a_body_that_a_page_changes_is_base64() {
        for body in ["1\r\n2", "1\r2", "\0"] {
            let command = with_body(body).unwrap();
            let encoded = STANDARD.encode(body);
            assert!(command.starts_with(&format!("printf %s {encoded} | base64 -d | curl ")), "{command}");
            assert!(command.ends_with(" --data-binary @-"), "{command}");
        }
        assert!(with_body("1\n2").unwrap().ends_with("--data-raw '1\n2'"));
    }

    #[test]
    fn a_command_is_not_long() {
        assert!(with_body(&"\"".repeat(MAX_PAYLOAD_BYTES / 2)).is_some());
        for body in
            ["\"".repeat(MAX_PAYLOAD_BYTES + 1), "'".repeat(MAX_PAYLOAD_BYTES / 2), "\0".repeat(MAX_PAYLOAD_BYTES)]
        {
            assert_eq!(with_body(&body), None);
        }
    }

    fn with_body(body: &str) -> Option<String> {
        let job = json!({ "content_type": null, "body": body, "body_base64": null, "headers": null });
        of(&Redaction::default(), &Visitor::default(), "b", &serde_json::from_value(job).unwrap())
    }
}
