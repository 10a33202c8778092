//! Keyboard input.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{App, Note, OpenedBucket, Prompt, Request};
use crate::top::bucket_history::BucketHistory;

/// How many rows Page Up and Page Down move.
const PAGE: usize = 10;
const LONGEST_FILTER: usize = 64;

impl App {
    pub(in crate::top) fn press(&mut self, key: KeyEvent) -> Option<Request> {
        self.note = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Request::Quit);
        }
        match std::mem::replace(&mut self.prompt, Prompt::Nothing) {
            Prompt::Filter => self.type_filter(key.code),
            Prompt::Confirm { bucket, pause } => {
                return (key.code == KeyCode::Char('y')).then_some(Request::Operate { bucket, pause });
            }
            Prompt::Nothing => return self.command(key.code),
        }
        None
    }

    fn command(&mut self, key: KeyCode) -> Option<Request> {
        match key {
            KeyCode::Char('q') => return Some(Request::Quit),
            // Any key leaves the help.
            _ if self.shows_help => self.shows_help = false,
            KeyCode::Char('?') => self.shows_help = true,
            KeyCode::Char('p') => self.ask(),
            _ if self.opened.is_some() => self.in_bucket(key),
            _ => self.in_list(key),
        }
        None
    }

    fn in_list(&mut self, key: KeyCode) {
        let selected = self.selection();
        match key {
            KeyCode::Up | KeyCode::Char('k') => self.select(selected.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select(selected + 1),
            KeyCode::PageUp => self.select(selected.saturating_sub(PAGE)),
            KeyCode::PageDown => self.select(selected + PAGE),
            KeyCode::Home => self.select(0),
            KeyCode::End => self.select(usize::MAX),
            KeyCode::Char('/') => self.prompt = Prompt::Filter,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Enter => self.open(),
            _ => {}
        }
    }

    fn in_bucket(&mut self, key: KeyCode) {
        if matches!(key, KeyCode::Esc | KeyCode::Left | KeyCode::Backspace) {
            self.opened = None;
            return;
        }
        let Some(OpenedBucket { scrolled, .. }) = &mut self.opened else { return };
        match key {
            KeyCode::Up | KeyCode::Char('k') => *scrolled = scrolled.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => *scrolled += 1,
            KeyCode::PageUp => *scrolled = scrolled.saturating_sub(PAGE),
            KeyCode::PageDown => *scrolled += PAGE,
            KeyCode::Home => *scrolled = 0,
            _ => {}
        }
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => return,
            KeyCode::Esc => {
                self.filter.clear();
                return;
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(typed) if self.filter.len() < LONGEST_FILTER => self.filter.push(typed),
            _ => {}
        }
        self.prompt = Prompt::Filter;
    }

    /// Selects the bucket at this index of the list, or the last one.
    fn select(&mut self, place: usize) {
        let listed = self.listed();
        let selected = listed.get(place).or(listed.last()).map(|bucket| bucket.name.clone());
        self.selected = selected;
    }

    fn open(&mut self) {
        let selected = self.listed().get(self.selection()).map(|bucket| bucket.name.clone());
        if let Some(name) = selected {
            self.selected = Some(name.clone());
            self.opened = Some(OpenedBucket { name, history: BucketHistory::default(), scrolled: 0 });
        }
    }

    /// Asks whether to pause or resume the bucket that is opened or else selected.
    fn ask(&mut self) {
        let bucket = match &self.opened {
            Some(_) => self.opened_bucket(),
            None => self.listed().get(self.selection()).copied(),
        };
        let Some(bucket) = bucket else { return };
        let (bucket, is_known, pause) = (bucket.name.clone(), bucket.row.is_some(), !bucket.is_paused());
        if !self.installation.may_operate {
            self.refuse("pausing needs a key with the scope `operate`".to_owned());
        } else if !is_known {
            self.refuse(format!("the state of {bucket} can't be read; try again when it can"));
        } else {
            self.prompt = Prompt::Confirm { bucket, pause };
        }
    }

    fn refuse(&mut self, text: String) {
        self.note = Some(Note { text, is_error: true });
    }
}
