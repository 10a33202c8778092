//! The settings of a bucket that can be changed at run time, as part of its page.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use maud::{Markup, html};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::current;
use super::wanted::{RESTORE, showing};
use crate::dashboard::Dashboard;
use crate::model::setting::Setting;
use crate::parts::{action, listing};
use crate::web::identity::Visitor;

/// The id of the note that the shown settings are outdated.
pub(super) const NOTE: &str = "settings-note";

/// The settings; empty if they can't be read, so that the rest of the page is shown.
pub(super) async fn section(page: &Dashboard, visitor: &Visitor, bucket: &str) -> Markup {
    let Ok(settings) = current::read(page, visitor, bucket).await else { return html! {} };
    html! {
        section.card #settings {
            h2 { "Settings" }
            (note(false))
            @if visitor.may("operate") {
                p.faint { "Fill in the settings to change. A preview is shown before anything changes." }
                (fields(visitor, bucket, settings.iter().map(|setting| (setting, ""))))
                div.actions.documents {
                    @for setting in settings.iter().filter(|setting| setting.is_document()) {
                        (document(visitor, bucket, setting, &text(setting), false))
                    }
                }
                (changed(visitor, bucket, &settings))
            } @else {
                (table(&settings))
            }
        }
    }
}

/// A hash of the run-time changes, to detect that a page shows outdated settings.
pub(super) fn version(changes: &Value) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(changes.to_string()))
}

/// A note if the shown settings are outdated. The fields aren't updated, because they may contain typed values.
pub(super) fn note(is_old: bool) -> Markup {
    html! {
        div id=(NOTE) {
            @if is_old {
                p.note role="status" {
                    "Settings were changed after this page was loaded. A preview shows their values beside yours."
                }
            }
        }
    }
}

/// Fields of settings, with the typed values. An empty field changes nothing.
pub(super) fn fields<'s>(
    visitor: &Visitor,
    bucket: &str,
    settings: impl Iterator<Item = (&'s Setting, &'s str)>,
) -> Markup {
    html! {
        form.settings method="post" action={ "/buckets/" (bucket) "/change/preview" } {
            (action::token(visitor))
            @for (setting, typed) in settings.filter(|(setting, _)| !setting.is_document()) {
                (showing(setting))
                label {
                    code { (setting.name) } " "
                    span.faint { (description(setting)) }
                    @if setting.is_switch() {
                        select name=(setting.name) {
                            option value="" { (setting.shown(&setting.value)) " (now)" }
                            @for word in ["true", "false"] { option selected[word == typed] { (word) } }
                        }
                    } @else {
                        input name=(setting.name) value=(typed) placeholder=(placeholder(setting)) autocomplete="off"
                            spellcheck="false";
                    }
                }
            }
            button.primary type="submit" { "Preview" }
        }
    }
}

fn placeholder(setting: &Setting) -> String {
    if setting.value.is_null() {
        format!("no limit; such as {}", setting.example)
    } else {
        setting.shown(&setting.value)
    }
}

fn text(setting: &Setting) -> String {
    serde_json::to_string_pretty(&setting.value).unwrap_or_default()
}

/// A separate form for a list or an object, so that only an opened one is changed.
pub(super) fn document(visitor: &Visitor, bucket: &str, setting: &Setting, text: &str, is_open: bool) -> Markup {
    html! {
        details.confirm open[is_open] {
            summary.button { "Edit " (setting.name) "…" }
            form.panel method="post" action={ "/buckets/" (bucket) "/change/preview" } {
                (action::token(visitor))
                (showing(setting))
                label {
                    code { (setting.name) } " "
                    span.faint { (description(setting)) }
                    textarea name=(setting.name) rows="8" spellcheck="false" { (text) }
                }
                p.faint { "In JSON, such as " code { (setting.example) } "." }
                button.primary type="submit" { "Preview" }
            }
        }
    }
}

/// The changed settings, with buttons that restore the configured values.
fn changed(visitor: &Visitor, bucket: &str, settings: &[Setting]) -> Markup {
    let changed: Vec<&Setting> = settings.iter().filter(|setting| setting.changed).collect();
    html! {
        @if !changed.is_empty() {
            h3 { "Changed at run time" }
            div.scroll tabindex="0" role="region" aria-label="Changed at run time" { table {
                (listing::head(&["setting", "now", "configured", "action"]))
                tbody { @for setting in changed { tr {
                    th scope="row" { code { (setting.name) } }
                    td { (value(&setting.shown(&setting.value))) }
                    td { (value(&setting.shown(&setting.configured))) }
                    td {
                        form.inline method="post" action={ "/buckets/" (bucket) "/change" } {
                            (action::token(visitor))
                            (showing(setting))
                            input type="hidden" name=(RESTORE) value=(setting.name);
                            button type="submit" { "Restore " (setting.name) }
                        }
                    }
                } } }
            } }
        }
    }
}

fn table(settings: &[Setting]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Settings" { table {
            (listing::head(&["setting", "now", "configured"]))
            tbody { @for setting in settings { tr {
                th scope="row" { code { (setting.name) } }
                td { (value(&setting.shown(&setting.value))) }
                td { @if setting.changed { (value(&setting.shown(&setting.configured))) } @else { "as now" } }
            } } }
        } }
    }
}

/// A value; one of several lines keeps its line breaks.
pub(super) fn value(text: &str) -> Markup {
    html! { @if text.contains('\n') { pre.value { (text) } } @else { (text) } }
}

/// The description, with text between backquotes as code.
fn description(setting: &Setting) -> Markup {
    let parts = setting.description.split('`').enumerate();
    html! { @for (at, part) in parts { @if at % 2 == 1 { code { (part) } } @else { (part) } } }
}
