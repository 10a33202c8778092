//! A job as a curl command that submits it again.

use crate::model::job::JobPayload;
use crate::parts::teach;
use crate::web::identity::Visitor;
use dripfeed_job::redaction::{Redaction, Shown};

/// With what is redacted masked. None: the payload isn't shown, or not whole.
pub(crate) fn of(redaction: &Redaction, visitor: &Visitor, bucket: &str, job: &JobPayload) -> Option<String> {
    if job.truncated {
        return None;
    }
    let url = format!("{}/v1/buckets/{bucket}/jobs{}", visitor.api.origin(), teach::key(visitor));
    let fields = fields(job);
    if let Some(base64) = &job.body_base64 {
        let command = format!("printf %s {base64} | base64 -d | curl {url}{fields} --data-binary @-");
        return (redaction.of_bytes() == Shown::Whole).then_some(command);
    }
    let body = job.body.as_deref().unwrap_or_default();
    let body = match redaction.of_text(body) {
        Shown::Whole => quoted(body),
        Shown::Masked(masked) => quoted(&masked),
        Shown::Hidden => return None,
    };
    Some(format!("curl {url}{fields} --data-raw {body}"))
}

fn fields(job: &JobPayload) -> String {
    let content_type = job.content_type.as_ref().map_or_else(
        // What curl would send is a form.
        || " -H 'Content-Type:'".to_owned(),
        |content_type| format!(" -H {}", quoted(&format!("content-type: {content_type}"))),
    );
    let own = [("Dripfeed-Method".to_owned(), job.method.as_ref()), ("Dripfeed-Path".to_owned(), job.path.as_ref())];
    let forwarded = job.headers.iter().flatten();
    let forwarded = forwarded.map(|header| (format!("Dripfeed-Forward-{}", header.name), Some(&header.value)));
    let given = own.into_iter().chain(forwarded).filter_map(|(name, value)| Some((name, value?)));
    let others = given.map(|(name, value)| format!(" -H {}", quoted(&format!("{name}: {value}"))));
    std::iter::once(content_type).chain(others).collect()
}

/// For a shell.
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
    }
}
