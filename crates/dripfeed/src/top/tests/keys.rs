use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::top::app::{Prompt, Request};

fn press(app: &mut App, key: char) -> Option<Request> {
    app.press(KeyEvent::from(KeyCode::Char(key)))
}

fn named(names: impl IntoIterator<Item = &'static str>) -> Vec<Json> {
    names.into_iter().map(|name| bucket(name, &json!({}))).collect()
}

#[test]
fn a_pause_takes_a_confirmation() {
    let (mut app, _) = looking_at(&named(["mail", "orders"]));
    app.press(KeyEvent::from(KeyCode::Down));
    assert_eq!(press(&mut app, 'p'), None);
    assert_eq!(app.prompt, Prompt::Confirm { bucket: "orders".to_owned(), pause: true });
    assert_eq!((press(&mut app, 'n'), &app.prompt), (None, &Prompt::Nothing));
    press(&mut app, 'p');
    assert_eq!(press(&mut app, 'y'), Some(Request::Operate { bucket: "orders".to_owned(), pause: true }));
    assert_eq!(app.prompt, Prompt::Nothing);
}

#[test]
fn a_paused_bucket_is_resumed_where_it_is_looked_at() {
    let (mut app, _) = looking_at(&[bucket("mail", &json!({ "paused": true }))]);
    app.press(KeyEvent::from(KeyCode::Enter));
    press(&mut app, 'p');
    assert_eq!(press(&mut app, 'y'), Some(Request::Operate { bucket: "mail".to_owned(), pause: false }));
}

#[test]
fn a_key_without_the_scope_pauses_nothing() {
    let (mut app, now) = looking_at(&named(["mail"]));
    app.receive(FeedEvent::Opened(Installation::default()), now);
    assert_eq!(press(&mut app, 'p'), None);
    let note = app.note.as_ref().map(|note| note.text.clone()).unwrap_or_default();
    assert!(note.contains("`operate`"), "{note}");
    assert_eq!((press(&mut app, 'y'), &app.prompt), (None, &Prompt::Nothing));
}

#[test]
fn a_bucket_that_is_not_read_is_not_paused_and_says_why() {
    let (mut app, now) = looking_at(&[]);
    let mut unread = frame(21, &[]);
    unread.unavailable = vec!["mail".to_owned()];
    app.receive(FeedEvent::Frame(Box::new(unread)), now);
    assert_eq!((press(&mut app, 'p'), &app.prompt), (None, &Prompt::Nothing));
    let note = app.note.as_ref().map(|note| note.text.as_str());
    assert_eq!(note, Some("the state of mail can't be read; try again when it can"));
}

#[test]
fn q_and_ctrl_c_quit_but_in_a_filter_q_is_a_letter() {
    let (mut app, _) = looking_at(&named(["mail"]));
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    press(&mut app, '/');
    assert_eq!((press(&mut app, 'q'), app.filter.as_str()), (None, "q"));
    assert_eq!(app.press(interrupt), Some(Request::Quit));
    app.press(KeyEvent::from(KeyCode::Esc));
    assert_eq!(app.filter, "");
    assert_eq!(press(&mut app, 'q'), Some(Request::Quit));
}

#[test]
fn the_selection_stays_with_its_bucket() {
    let (mut app, now) = looking_at(&named(["b", "c", "d"]));
    app.press(KeyEvent::from(KeyCode::Down));
    app.receive(FeedEvent::Frame(Box::new(frame(21, &named(["a", "b", "c", "d"])))), now);
    assert_eq!(app.selection(), 2);
    for _ in 0..9 {
        app.press(KeyEvent::from(KeyCode::Down));
    }
    assert_eq!(app.selection(), 3, "no further than the last one");
    app.receive(FeedEvent::Frame(Box::new(frame(22, &named(["a", "b"])))), now);
    assert_eq!(app.selection(), 0, "it is gone");
}

#[test]
fn with_many_buckets_the_states_around_the_selected_one_are_requested() {
    let many: Vec<Json> = (0..200).map(|n| bucket(&format!("{n:03}"), &json!({}))).collect();
    let (mut app, now) = looking_at(&many);
    let wanted = app.wanted();
    assert_eq!((wanted.len(), wanted.first().unwrap().as_str(), wanted.last().unwrap().as_str()), (64, "000", "063"));
    app.press(KeyEvent::from(KeyCode::End));
    let wanted = app.wanted();
    assert_eq!((wanted.len(), wanted.first().unwrap().as_str(), wanted.last().unwrap().as_str()), (8, "192", "199"));
    app.receive(FeedEvent::Frame(Box::new(frame(21, &many[..64]))), now);
    assert_eq!(app.wanted().len(), 64, "of few, those of all");
}

#[test]
fn named_buckets_are_shown_alone() {
    let mut app = App::new(String::new(), vec!["b".to_owned(), "x".to_owned()], operator());
    app.receive(FeedEvent::Frame(Box::new(frame(20, &named(["a", "b"])))), Instant::now());
    assert_eq!(app.listed().iter().map(|bucket| bucket.name.as_str()).collect::<Vec<_>>(), ["b"]);
    assert_eq!((app.unknown(), app.wanted()), (vec!["x"], vec!["b".to_owned(), "x".to_owned()]));
}
