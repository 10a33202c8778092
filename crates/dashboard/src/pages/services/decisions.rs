//! The policies of a service with their decisions, since the intake started, and by minute.

use maud::{Markup, html};

use super::ruled::Ruled;
use crate::model::services::{Service, Verdicts};
use crate::parts::strips::{self, Line};
use crate::parts::{listing, numbers, policy};

const COLUMNS: [&str; 4] = ["last hour", "#allowed", "#refused", "#shadow refused"];

/// The id of the table.
pub(super) fn id(service: &Service) -> String {
    format!("decisions-{}", service.name)
}

pub(super) fn of(ruled: &Ruled) -> Markup {
    let columns: Vec<&str> = policy::COLUMNS.into_iter().chain(COLUMNS).collect();
    html! {
        div.scroll id=(id(&ruled.service)) tabindex="0" role="region"
            aria-label={ "Policies of " (ruled.service.name) } { table {
            (listing::head(&columns))
            tbody { @for policy in &ruled.rules.policies {
                (row(ruled, policy["id"].as_str().unwrap_or_default(), &policy::cells(policy)))
            } }
        } }
    }
}

fn row(ruled: &Ruled, policy: &str, cells: &Markup) -> Markup {
    let verdicts = ruled.service.verdicts.get(policy).copied().unwrap_or_default();
    html! {
        tr {
            (cells)
            td { (chart(ruled, policy)) }
            td.number { (numbers::count(verdicts.allowed + verdicts.unchecked)) }
            td.number { (numbers::count(verdicts.refused)) }
            td.number { (numbers::count(verdicts.shadow_refused)) }
        }
    }
}

/// A chart by minute, with the highest values as text.
fn chart(ruled: &Ruled, policy: &str) -> Markup {
    let Some(slots) = ruled.history.policies.get(policy) else { return html! { span.faint { "no requests" } } };
    let allowed = ruled.history.values(slots, |verdicts| verdicts.allowed + verdicts.unchecked);
    let refused = ruled.history.values(slots, |verdicts| verdicts.refused + verdicts.shadow_refused);
    let most =
        |of: fn(&Verdicts) -> u64| numbers::count(slots.iter().map(|slot| of(&slot.verdicts)).max().unwrap_or(0));
    let words = format!(
        "up to {} allowed and {} refused a minute",
        most(|verdicts| verdicts.allowed + verdicts.unchecked),
        most(|verdicts| verdicts.refused + verdicts.shadow_refused)
    );
    html! {
        (strips::lines(&[Line { class: "a", values: &allowed }, Line { class: "b", values: &refused }]))
        span.faint { (words) }
    }
}
