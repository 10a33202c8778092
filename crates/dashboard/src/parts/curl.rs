//! A job as a curl command that submits it again.

use crate::model::job::DeadLetter;
use dripfeed_job::redaction::{Redaction, Shown};

/// With what is redacted masked. None: the payload isn't shown.
pub(crate) fn of(redaction: &Redaction, bucket: &str, letter: &DeadLetter, address: &str) -> Option<String> {
    let url = format!("{address}/v1/buckets/{bucket}/jobs");
    let fields = fields(letter);
    if let Some(base64) = &letter.body_base64 {
        let command = format!("printf %s {base64} | base64 -d | curl {url}{fields} --data-binary @-");
        return (redaction.of_bytes() == Shown::Whole).then_some(command);
    }
    let body = letter.body.as_deref().unwrap_or_default();
    let body = match redaction.of_text(body) {
        Shown::Whole => quoted(body),
        Shown::Masked(masked) => quoted(&masked),
        Shown::Hidden => return None,
    };
    Some(format!("curl {url}{fields} --data-raw {body}"))
}

fn fields(letter: &DeadLetter) -> String {
    let own = [
        ("content-type".to_owned(), letter.content_type.as_ref()),
        ("Dripfeed-Method".to_owned(), letter.method.as_ref()),
        ("Dripfeed-Path".to_owned(), letter.path.as_ref()),
    ];
    let forwarded = letter.headers.iter().flatten();
    let forwarded = forwarded.map(|header| (format!("Dripfeed-Forward-{}", header.name), Some(&header.value)));
    let given = own.into_iter().chain(forwarded).filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| format!(" -H {}", quoted(&format!("{name}: {value}")))).collect()
}

/// For a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
