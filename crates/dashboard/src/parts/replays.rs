//! Background replays and their progress.

use dripfeed_job::LastStatus;
use maud::{Markup, html};

use crate::model::replay::{Filter, Replay};
use crate::parts::{action, numbers, when};
use crate::web::identity::Visitor;

/// The latest replays are shown, and all that are running.
const MOST_SHOWN: usize = 3;

/// `path` is that of the dead letters' page.
pub(crate) fn of(visitor: &Visitor, path: &str, replays: &[Replay]) -> Markup {
    let shown = replays.iter().enumerate().filter(|(number, replay)| *number < MOST_SHOWN || replay.is_running());
    html! {
        section #replays {
            @if !replays.is_empty() {
                h2 { "Replays" }
                ul.groups { @for (_, replay) in shown { (one(visitor, path, replay)) } }
            }
        }
    }
}

fn one(visitor: &Visitor, path: &str, replay: &Replay) -> Markup {
    let looked_at = replay.done + replay.failed + replay.gone;
    html! {
        li {
            span.what {
                strong { (replay.state) } ": " (what(&replay.filter))
                @if let Some(rate) = &replay.rate { ", at " (rate) }
                span.faint {
                    ", started " (when::ago(&replay.started_at))
                    @if let Some(key) = &replay.key { " by " (key) }
                }
            }
            progress max=(replay.total.max(1)) value=(looked_at) aria-label={ "Replay " (replay.id) } {}
            span.count {
                (numbers::count(replay.done)) " of " (numbers::count(replay.total))
                @if replay.failed > 0 {
                    span.faint {
                        "; " (numbers::count(replay.failed))
                        " left: their callers are at their share, or they are larger than the bucket"
                    }
                }
                @if replay.gone > 0 {
                    span.faint { "; " (numbers::count(replay.gone)) " were replayed or deleted otherwise" }
                }
            }
            @if replay.is_running() && visitor.may("operate") {
                (action::button(visitor, &format!("{path}/replays/{}/cancel", replay.id), "Stop"))
            }
        }
    }
}

/// `status 410, the reason “gone”, of shop, died until 14:03:20`.
fn what(filter: &Filter) -> Markup {
    let status = filter.status.map(LastStatus::described);
    let caller = filter.caller.as_ref().map(|caller| format!("of {caller}"));
    let words = [status, reason(filter.reason.as_deref(), filter.exact_reason), caller].into_iter().flatten();
    let times = [("since", filter.since), ("until", filter.until)].into_iter();
    let times = times.filter_map(|(which, at)| Some(html! { "died " (which) " " (when::clock(at?)) }));
    let parts: Vec<Markup> = words.map(|words| html! { (words) }).chain(times).collect();
    html! {
        @if parts.is_empty() { "all dead letters" }
        @for (number, part) in parts.iter().enumerate() { @if number > 0 { ", " } (part) }
    }
}

/// The condition of a filter on reasons, as text. `None` if it has none.
pub(crate) fn reason(reason: Option<&str>, is_exact: bool) -> Option<String> {
    let which = if is_exact { "the reason" } else { "a reason with" };
    let named = reason.filter(|reason| !reason.is_empty()).map(|reason| format!("{which} “{reason}”"));
    named.or_else(|| is_exact.then(|| "no reason".to_owned()))
}
