//! The state of the view: the last frame, the selection, and open questions.

mod keys;

use std::time::{Duration, Instant};

use dripfeed_dashboard::frame::{self, Frame, Notice, Pulse, Row, Summary};

use super::bucket_history::BucketHistory;
use super::feed::{FeedEvent, Installation};
use super::shown_bucket::ShownBucket;

/// As many whole states as the API puts into a frame.
pub(super) const MOST_STATES: usize = 64;
/// Without a frame for this long the numbers may be old.
const FRESH: Duration = Duration::from_secs(5);

pub(super) struct App {
    /// Its address.
    pub(super) server: String,
    /// The buckets that were asked for; empty: all.
    names: Vec<String>,
    pub(super) installation: Installation,
    /// Why and until when there is no stream.
    lost: Option<Lost>,
    pub(super) latest: Option<Latest>,
    pulse: Pulse,
    /// In the order of their names.
    pub(super) buckets: Vec<ShownBucket>,
    pub(super) filter: String,
    /// In the list.
    selected: Option<String>,
    pub(super) opened: Option<OpenedBucket>,
    pub(super) shows_help: bool,
    pub(super) prompt: Prompt,
    /// What became of the last action.
    pub(super) note: Option<Note>,
}

/// What a frame says of all buckets.
pub(super) struct Latest {
    pub(super) at: String,
    pub(super) summary: Summary,
    /// The problems and warnings of all buckets.
    attention: (u64, u64),
    /// Buckets that need a person, where the frame hasn't a row of each.
    urgent: Vec<Row>,
    arrived: Instant,
}

struct Lost {
    why: String,
    forbidden: bool,
    until: Instant,
}

/// How current the numbers are.
#[derive(Debug, PartialEq)]
pub(super) enum Sight<'a> {
    Live,
    Stale { since: Duration },
    Gone { why: &'a str, retry_in: Duration },
    Forbidden { why: &'a str, retry_in: Duration },
}

pub(super) struct OpenedBucket {
    pub(super) name: String,
    pub(super) history: BucketHistory,
    /// Lines above the screen.
    pub(super) scrolled: usize,
}

/// What the last line asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Prompt {
    Nothing,
    Filter,
    /// Whether to pause or resume it.
    Confirm {
        bucket: String,
        pause: bool,
    },
}

/// What the screen alone can't do.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Quit,
    Operate { bucket: String, pause: bool },
}

pub(super) struct Note {
    pub(super) text: String,
    pub(super) is_error: bool,
}

impl App {
    pub(super) fn new(server: String, names: Vec<String>, installation: Installation) -> Self {
        Self {
            server,
            names,
            installation,
            lost: None,
            latest: None,
            pulse: Pulse::default(),
            buckets: Vec::new(),
            filter: String::new(),
            selected: None,
            opened: None,
            shows_help: false,
            prompt: Prompt::Nothing,
            note: None,
        }
    }

    pub(super) fn receive(&mut self, event: FeedEvent, now: Instant) {
        match event {
            FeedEvent::Opened(installation) => self.installation = installation,
            FeedEvent::Frame(frame) => self.show(*frame, now),
            FeedEvent::OfRedis(notices) => self.installation.of_redis = notices,
            FeedEvent::Lost { why, forbidden, retry_in } => {
                self.lost = Some(Lost { why, forbidden, until: now + retry_in });
            }
        }
    }

    fn show(&mut self, mut frame: Frame, now: Instant) {
        self.lost = None;
        self.pulse.take(&mut frame);
        self.buckets = ShownBucket::all(&frame);
        if !self.names.is_empty() {
            self.buckets.retain(|bucket| self.names.contains(&bucket.name));
        }
        let (problems, warnings) = frame.notices();
        let attention = (problems + frame.unavailable.len() as u64, warnings);
        let urgent = frame.urgent();
        self.latest = Some(Latest { at: frame.at, summary: frame.summary, attention, urgent, arrived: now });
        let opened = self.opened.as_mut();
        if let Some(opened) = opened
            && let Some(row) = named(&self.buckets, &opened.name).and_then(|bucket| bucket.row.as_ref())
        {
            opened.history.add(row);
        }
    }

    pub(super) fn sight(&self, now: Instant) -> Sight<'_> {
        if let Some(Lost { why, forbidden, until }) = &self.lost {
            let retry_in = until.saturating_duration_since(now);
            return if *forbidden { Sight::Forbidden { why, retry_in } } else { Sight::Gone { why, retry_in } };
        }
        let since = self.latest.as_ref().map_or(Duration::ZERO, |frame| now.saturating_duration_since(frame.arrived));
        if since < FRESH { Sight::Live } else { Sight::Stale { since } }
    }

    /// How many problems and warnings there are, also in buckets that aren't shown.
    pub(super) fn attention(&self) -> (u64, u64) {
        let (problems, warnings) = frame::counts(&self.installation.of_redis);
        let of_buckets = self.latest.as_ref().map_or((0, 0), |latest| latest.attention);
        (problems + of_buckets.0, warnings + of_buckets.1)
    }

    /// What needs a person of Redis and of the buckets that are shown; of the most urgent ones, if none is.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let of_redis = self.installation.of_redis.iter().cloned();
        let urgent = self.latest.iter().filter(|_| self.buckets.is_empty()).flat_map(|latest| &latest.urgent);
        let shown = self.buckets.iter().flat_map(ShownBucket::notices);
        of_redis.chain(shown).chain(urgent.flat_map(frame::of_bucket)).collect()
    }

    /// Those that the filter lets through.
    pub(super) fn listed(&self) -> Vec<&ShownBucket> {
        let wanted = self.filter.to_lowercase();
        self.buckets.iter().filter(|bucket| bucket.name.to_lowercase().contains(&wanted)).collect()
    }

    /// The place of the selected bucket in the list: the first one, if that one isn't in it.
    pub(super) fn selection(&self) -> usize {
        let is_selected = |bucket: &&ShownBucket| Some(&bucket.name) == self.selected.as_ref();
        self.listed().iter().position(is_selected).unwrap_or(0)
    }

    /// None: it isn't there any more.
    pub(super) fn opened_bucket(&self) -> Option<&ShownBucket> {
        named(&self.buckets, &self.opened.as_ref()?.name)
    }

    /// Names that were asked for, and that no bucket has.
    pub(super) fn unknown(&self) -> Vec<&str> {
        let unknown = self.names.iter().filter(|name| named(&self.buckets, name).is_none());
        unknown.map(String::as_str).collect()
    }

    /// The buckets whose whole state is needed: of many, those around the selected one.
    pub(super) fn wanted(&self) -> Vec<String> {
        if !self.names.is_empty() {
            return self.names.clone();
        }
        let name = |bucket: &ShownBucket| bucket.name.clone();
        if self.buckets.len() <= MOST_STATES {
            return self.buckets.iter().map(name).collect();
        }
        let first = self.selection() / MOST_STATES * MOST_STATES;
        self.listed().into_iter().skip(first).take(MOST_STATES).map(name).collect()
    }
}

fn named<'b>(buckets: &'b [ShownBucket], name: &str) -> Option<&'b ShownBucket> {
    buckets.iter().find(|bucket| bucket.name == name)
}
