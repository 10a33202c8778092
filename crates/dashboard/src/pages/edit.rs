//! Submits a dead letter as a new job with another payload.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};
use serde::de::IgnoredAny;

use crate::dashboard::Dashboard;
use crate::model::job::{DeadLetter, Receipt};
use crate::pages::done::after;
use crate::parts::action;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;
use dripfeed_job::redaction::{RedactedText, Redaction};

/// Maximum bytes of the payload. Forms are limited to 2 MiB, and escapes may triple some bytes.
const LARGEST: usize = 512 * 1024;

/// The kind of all line breaks of a text.
#[derive(Clone, Copy, PartialEq)]
enum LineBreaks {
    Lf,
    CrLf,
}

impl LineBreaks {
    /// Returns `None` if a form would change the text: it makes all line breaks the same, and replaces NUL.
    fn of(text: &str) -> Option<Self> {
        let count = |of: &str| text.matches(of).count();
        match [count("\r\n"), count("\r"), count("\n")] {
            _ if text.contains('\0') => None,
            [_, 0, _] => Some(Self::Lf),
            [both, returns, feeds] if both == returns && both == feeds => Some(Self::CrLf),
            _ => None,
        }
    }
}

/// The form, if the payload is text, isn't too long, and may be seen by the visitor.
pub(crate) fn form(redaction: &Redaction, visitor: &Visitor, path: &str, letter: &DeadLetter) -> Markup {
    let may = ["operate", "inspect", "submit"].into_iter().all(|scope| visitor.may(scope));
    let can_be_edited =
        |body: &&str| may && body.len() <= LARGEST && redaction.redact_text(body) == RedactedText::Whole;
    let body = letter.payload.body.as_deref().filter(can_be_edited);
    html! {
        @if let Some((body, breaks)) = body.and_then(|body| Some((body, LineBreaks::of(body)?))) {
            details.confirm {
                summary.button { "Edit and replay…" }
                form.panel method="post" action={ (path) "/edit" } data-here {
                    (action::token(visitor))
                    label { "Payload" textarea name="body" rows="12" spellcheck="false" {
                        // HTML drops the first line break.
                        "\n" (body)
                    } }
                    label {
                        "Content type"
                        input name="content_type" value=(letter.payload.content_type.as_deref().unwrap_or_default())
                            autocomplete="off" spellcheck="false";
                    }
                    // Forms submit all line breaks as CRLF.
                    @if breaks == LineBreaks::CrLf { input type="hidden" name="crlf" value="yes"; }
                    p.faint { "It becomes a new job with the same method, path and headers; this one is removed." }
                    button type="submit" { "Replay with this payload" }
                }
            }
        }
    }
}

/// Refuses invalid JSON if the content type is JSON, as it is probably a typing error.
fn check_json(content_type: &str, body: &str) -> Result<(), Failure> {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if media != "application/json" && !media.ends_with("+json") {
        return Ok(());
    }
    serde_json::from_str::<IgnoredAny>(body).map(drop).map_err(|error| {
        let detail = format!("the payload isn't JSON: {error}; nothing was replayed");
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid payload", &detail)
    })
}

pub(crate) async fn edit(
    State(page): State<Dashboard>,
    Path((name, id)): Path<(String, String)>,
    action: Action,
) -> Response {
    after(&action.visitor, edited(&page, &action, &name, &id).await)
}

async fn edited(page: &Dashboard, action: &Action, name: &str, id: &str) -> Result<String, Failure> {
    let (name, id) = (escaped(name), escaped(id));
    let body = action.fields.get("body").cloned().unwrap_or_default();
    let body = if action.field("crlf").is_some() { body } else { body.replace("\r\n", "\n") };
    let content_type = action.field("content_type");
    check_json(content_type.unwrap_or_default(), &body)?;
    let path = format!("/v1/buckets/{name}/dead/{id}/edit");
    let answer = page.api().submit(&action.visitor, &path, content_type, body).await?;
    let Receipt { id } = serde_json::from_slice(&answer).map_err(|_| Failure::unreadable())?;
    Ok(format!("/buckets/{name}/jobs/{id}?done=replayed&count=1"))
}

#[cfg(test)]
mod tests {
    use super::LineBreaks;

    #[test]
    fn only_a_text_that_comes_back_the_same_is_edited() {
        for (text, breaks) in [("", LineBreaks::Lf), ("a\nb\n", LineBreaks::Lf), ("a\r\n\r\nb", LineBreaks::CrLf)] {
            assert!(LineBreaks::of(text) == Some(breaks), "{text:?}");
        }
        for text in ["a\rb", "a\r\nb\n", "a\r\nb\rc\nd", "a\n\r", "\0", "\u{8}\0abc\r\n"] {
            assert!(LineBreaks::of(text).is_none(), "{text:?}");
        }
    }
}
