use crossterm::event::{KeyCode, KeyEvent};
use ratatui_core::backend::TestBackend;
use ratatui_core::style::Color;
use ratatui_core::terminal::{Frame, Terminal};

use super::*;
use crate::top::draw::{self, Theme};

pub(super) fn drawn(app: &App, now: Instant, width: u16, height: u16) -> String {
    backend(app, Theme::coloured(), now, width, height).to_string()
}

fn backend(app: &App, theme: Theme, now: Instant, width: u16, height: u16) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let draw = |frame: &mut Frame<'_>| draw::screen(app, theme, now, frame.area(), frame.buffer_mut());
    terminal.draw(draw).unwrap();
    terminal.backend().clone()
}

fn press(app: &mut App, keys: &[KeyCode]) {
    for key in keys {
        assert_eq!(app.press(KeyEvent::from(*key)), None, "{key:?}");
    }
}

fn pace(reason: &str, effective: f64, held_for_ms: Option<u64>) -> Json {
    json!({ "target": "10/s", "effective_per_s": effective, "reason": reason, "held_for_ms": held_for_ms })
}

/// One bucket in each state.
fn installation() -> Vec<Json> {
    let nothing = json!({
        "level": 0, "waiting": 0, "in_flight": 0, "parked": 0, "oldest_age_ms": null, "accepted_per_s": 0.0,
        "settled_per_s": 0.0,
    });
    let paused = json!({
        "paused": true, "pace": pace("paused", 0.0, None), "settled_per_s": 0.0, "warnings": ["paused"],
    });
    let throttled = json!({
        "pace": pace("held", 0.0, Some(372_000)), "dead": 3, "warnings": ["throttled", "dead_letters"],
    });
    let unserved = json!({ "replicas": [], "in_flight": 0, "settled_per_s": 0.0, "problems": ["no_processor"] });
    let full = json!({
        "level": 1000, "waiting": 950, "in_flight": 50, "parked": 0, "refused_per_s": 41.0,
        "pace": pace("refusals", 4.0, None), "problems": ["refusing"],
    });
    vec![
        bucket("archive", &nothing),
        bucket("mail", &paused),
        bucket("orders", &json!({})),
        bucket("partner", &throttled),
        bucket("reports", &unserved),
        bucket("tigerfeeding", &full),
    ]
}

#[test]
fn buckets_in_each_state_stand_on_80_by_24() {
    let (app, now) = looking_at(&installation());
    insta::assert_snapshot!(drawn(&app, now, 80, 24));
}

#[test]
fn a_wide_terminal_has_more_columns() {
    let (app, now) = looking_at(&installation());
    insta::assert_snapshot!(drawn(&app, now, 160, 24));
}

#[test]
fn a_narrow_terminal_has_fewer_columns_and_no_number_is_cut() {
    let (app, now) = looking_at(&installation());
    insta::assert_snapshot!(drawn(&app, now, 50, 24));
    for width in 20..80 {
        let drawn = drawn(&app, now, width, 40).to_string();
        let head = drawn.lines().find(|line| line.contains("state")).unwrap_or_default();
        assert!(!head.is_empty(), "{width}: {drawn}");
        for column in ["jobs", "in/s", "out/s", "429/s", "dead"] {
            let shown = head.split([' ', '"']).any(|word| word == column);
            let is_cut = !shown && head.contains(&column[..2]) && column != "dead";
            assert!(!is_cut, "{width}: {head}");
        }
        assert!(drawn.contains("q quit"), "{width}: {drawn}");
    }
}

#[test]
fn no_bucket_is_explained() {
    let (app, now) = looking_at(&[]);
    insta::assert_snapshot!(drawn(&app, now, 80, 5));
}

#[test]
fn before_the_first_event_no_filter_is_blamed() {
    let app = App::new("http://127.0.0.1:7180".to_owned(), Vec::new(), operator());
    let drawn = drawn(&app, Instant::now(), 80, 10);
    assert!(!drawn.contains("No bucket"), "{drawn}");
}

#[test]
fn many_buckets_are_shown_page_by_page_with_the_reason_of_the_selected_one() {
    let buckets: Vec<Json> = (0..100).map(|n| bucket(&format!("tenant-{n:03}"), &json!({}))).collect();
    let (mut app, now) = looking_at(&buckets);
    press(&mut app, &[KeyCode::PageDown, KeyCode::PageDown, KeyCode::Down]);
    insta::assert_snapshot!(drawn(&app, now, 80, 24));
    press(&mut app, &[KeyCode::Char('/'), KeyCode::Char('9'), KeyCode::Char('9')]);
    insta::assert_snapshot!("filtered", drawn(&app, now, 80, 10));
    press(&mut app, &[KeyCode::Char('9'), KeyCode::Enter]);
    assert!(drawn(&app, now, 80, 10).contains("No bucket's name contains `999`."));
}

#[test]
fn too_many_buckets_for_a_frame_are_explained() {
    let urgent = [bucket("mail", &json!({ "problems": ["no_processor"] }))];
    let mut many = of_many(20, &urgent);
    many.summary.buckets = 2000;
    let mut app = App::new("http://127.0.0.1:7180".to_owned(), Vec::new(), operator());
    let now = Instant::now();
    app.receive(FeedEvent::Frame(Box::new(many)), now);
    let drawn = drawn(&app, now, 120, 12);
    assert!(drawn.contains("2000 buckets are too many for a frame: name up to 64 of them"), "{drawn}");
    assert!(drawn.contains("■ 1 problem") && drawn.contains("■ mail: no processor serves it"), "{drawn}");
}

#[test]
fn notices_of_hidden_buckets_are_counted() {
    let mut app = App::new("http://127.0.0.1:7180".to_owned(), vec!["orders".to_owned()], operator());
    let now = Instant::now();
    app.receive(FeedEvent::Frame(Box::new(frame(20, &installation()))), now);
    let drawn = drawn(&app, now, 80, 24);
    assert!(drawn.contains("■ 2 problems, 3 warnings") && !drawn.contains("All clear"), "{drawn}");
    assert!(!drawn.contains("reports"), "{drawn}");
}

#[test]
fn notices_that_have_no_room_are_counted_once() {
    let (app, now) = looking_at(&installation());
    let drawn = drawn(&app, now, 80, 8);
    assert!(drawn.contains("■ 2 problems, 3 warnings") && !drawn.contains("more"), "{drawn}");
}

#[test]
fn numbers_without_a_new_frame_are_stale() {
    let (app, now) = looking_at(&[bucket("mail", &json!({}))]);
    assert!(drawn(&app, now + Duration::from_millis(4900), 80, 10).contains("● live"));
    insta::assert_snapshot!(drawn(&app, now + Duration::from_secs(7), 80, 10));
}

#[test]
fn an_intake_that_is_gone_is_reported_until_it_is_back() {
    let buckets = [bucket("mail", &json!({}))];
    let (mut app, now) = looking_at(&buckets);
    app.receive(lost("can't connect to http://127.0.0.1:7180: is the intake running?", false), now);
    insta::assert_snapshot!(drawn(&app, now + Duration::from_secs(1), 100, 10));
    app.receive(FeedEvent::Opened(operator()), now);
    app.receive(FeedEvent::Frame(Box::new(frame(21, &buckets))), now);
    assert!(drawn(&app, now, 80, 10).contains("● live"));
}

#[test]
fn a_key_that_may_not_look_any_more_is_reported() {
    let (mut app, now) = looking_at(&[bucket("mail", &json!({}))]);
    app.receive(lost("Unauthenticated: unknown key (unauthenticated)", true), now);
    insta::assert_snapshot!(drawn(&app, now, 100, 10));
}

#[test]
fn a_bucket_is_opened_with_what_was_seen_of_it_since() {
    let limit =
        json!([{ "id": "each", "key": ["caller"], "tiers": [{ "kind": "fixed", "limit": 5, "period": "1m" }] }]);
    let seen = |second: u8, level: u64, accepted: u64| {
        let totals = json!({
            "accepted": 12_345 + accepted, "refused": { "bucket_full": 17 }, "ended": { "delivered": 12_000 },
            "recovered": 2, "dead_dropped": 0, "dead_replayed": 0,
        });
        let differs = json!({ "level": level, "waiting": level - 40, "totals": totals, "limits": limit });
        frame(second, &[bucket("mail", &differs)])
    };
    let mut app = App::new("http://127.0.0.1:7180".to_owned(), Vec::new(), operator());
    let now = Instant::now();
    app.receive(FeedEvent::Frame(Box::new(seen(20, 340, 0))), now);
    press(&mut app, &[KeyCode::Enter]);
    for (second, level, accepted) in [(21, 400, 70), (22, 700, 380), (23, 1000, 690), (24, 800, 700)] {
        app.receive(FeedEvent::Frame(Box::new(seen(second, level, accepted))), now);
    }
    insta::assert_snapshot!(drawn(&app, now, 80, 24));
    insta::assert_snapshot!("opened_in_a_wide_terminal", drawn(&app, now, 160, 40));
    press(&mut app, &[KeyCode::End, KeyCode::PageDown, KeyCode::PageDown, KeyCode::PageDown]);
    assert!(drawn(&app, now, 80, 24).contains("Submission limits"), "the end can be scrolled to");
    app.receive(FeedEvent::Frame(Box::new(frame(25, &[]))), now);
    assert!(drawn(&app, now, 80, 24).contains("There is no bucket mail any more."));
}

#[test]
fn keys_are_explained_with_those_that_may_be_used() {
    let (mut app, now) = looking_at(&[bucket("mail", &json!({}))]);
    press(&mut app, &[KeyCode::Char('?')]);
    insta::assert_snapshot!(drawn(&app, now, 80, 24));
    app.receive(FeedEvent::Opened(Installation::default()), now);
    let drawn = drawn(&app, now, 80, 24);
    assert!(drawn.contains("needs the scope operate") && !drawn.contains("confirmation"), "{drawn}");
}

#[test]
fn nothing_is_coloured_where_nobody_wants_colours() {
    let (mut app, now) = looking_at(&installation());
    app.receive(lost("the intake ended the stream", false), now);
    let is_coloured = |theme| {
        let backend = backend(&app, theme, now, 80, 24);
        backend.buffer().content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(is_coloured(Theme::coloured()) && !is_coloured(Theme::plain()));
}

#[test]
fn a_terminal_too_small_for_anything_is_drawn() {
    let (mut app, now) = looking_at(&installation());
    app.receive(lost("the intake ended the stream", false), now);
    for (width, height) in [(1, 1), (3, 2), (20, 3), (79, 6)] {
        drawn(&app, now, width, height);
        press(&mut app, &[KeyCode::Enter]);
        drawn(&app, now, width, height);
        press(&mut app, &[KeyCode::Esc]);
    }
}
