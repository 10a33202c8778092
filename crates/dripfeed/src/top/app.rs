//! The state of the view: the last frame, the selection, and open questions.

mod keys;

use std::time::{Duration, Instant};

use dripfeed_dashboard::frame::{self, Frame, LiveRates, Notice, Row, Summary};

use super::bucket_history::BucketHistory;
use super::feed::{FeedEvent, Installation};
use super::shown_bucket::ShownBucket;

/// The most whole states of buckets that the API puts into a frame.
pub(super) const MOST_STATES: usize = 64;
/// After this time without a frame the numbers are shown as stale.
const FRESH: Duration = Duration::from_secs(5);

pub(super) struct App {
    /// The address of the intake.
    pub(super) server: String,
    /// The buckets that the command line names; empty: all.
    names: Vec<String>,
    pub(super) installation: Installation,
    /// Why there is no stream, and when it is opened again. `None` after a frame.
    lost: Option<Lost>,
    pub(super) latest: Option<Latest>,
    pulse: LiveRates,
    /// In the order of their names.
    pub(super) buckets: Vec<ShownBucket>,
    pub(super) filter: String,
    /// The name of the bucket that is selected in the list.
    selected: Option<String>,
    pub(super) opened: Option<OpenedBucket>,
    pub(super) shows_help: bool,
    pub(super) prompt: Prompt,
    /// The outcome of the last action.
    pub(super) note: Option<Note>,
}

/// What a frame says of all buckets.
pub(super) struct Latest {
    pub(super) at: String,
    pub(super) summary: Summary,
    /// The problems and warnings of all buckets.
    attention: (u64, u64),
    /// Buckets that need an operator, if the frame doesn't have a row for each bucket.
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
    /// Before the first frame.
    Connecting,
    Live,
    Stale {
        since: Duration,
    },
    Gone {
        why: &'a str,
        retry_in: Duration,
    },
    Forbidden {
        why: &'a str,
        retry_in: Duration,
    },
}

pub(super) struct OpenedBucket {
    pub(super) name: String,
    pub(super) history: BucketHistory,
    /// How many lines are scrolled out at the top.
    pub(super) scrolled: usize,
}

/// What the last line of the screen asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Prompt {
    Nothing,
    Filter,
    /// Confirmation that the bucket is to be paused, or else resumed.
    Confirm {
        bucket: String,
        pause: bool,
    },
}

/// What a key press asks the session to do.
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
            pulse: LiveRates::default(),
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
        let Some(latest) = &self.latest else { return Sight::Connecting };
        let since = now.saturating_duration_since(latest.arrived);
        if since < FRESH { Sight::Live } else { Sight::Stale { since } }
    }

    /// Returns how many problems and warnings there are, also in buckets that aren't shown.
    pub(super) fn attention(&self) -> (u64, u64) {
        let (problems, warnings) = frame::counts(&self.installation.of_redis);
        let of_buckets = self.latest.as_ref().map_or((0, 0), |latest| latest.attention);
        (problems + of_buckets.0, warnings + of_buckets.1)
    }

    /// Returns the notices about Redis and about the shown buckets. If none is shown, those about the most urgent
    /// buckets.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let of_redis = self.installation.of_redis.iter().cloned();
        let urgent = self.latest.iter().filter(|_| self.buckets.is_empty()).flat_map(|latest| &latest.urgent);
        let shown = self.buckets.iter().flat_map(ShownBucket::notices);
        of_redis.chain(shown).chain(urgent.flat_map(frame::of_bucket)).collect()
    }

    /// Returns the buckets whose name contains the filter.
    pub(super) fn listed(&self) -> Vec<&ShownBucket> {
        let wanted = self.filter.to_lowercase();
        self.buckets.iter().filter(|bucket| bucket.name.to_lowercase().contains(&wanted)).collect()
    }

    /// Returns the index of the selected bucket in the list; 0 if it isn't in the list.
    pub(super) fn selection(&self) -> usize {
        let is_selected = |bucket: &&ShownBucket| Some(&bucket.name) == self.selected.as_ref();
        self.listed().iter().position(is_selected).unwrap_or(0)
    }

    /// Returns `None` if no bucket is opened, or if the frame doesn't contain it any more.
    pub(super) fn opened_bucket(&self) -> Option<&ShownBucket> {
        named(&self.buckets, &self.opened.as_ref()?.name)
    }

    /// Returns the names on the command line that no bucket has.
    pub(super) fn unknown(&self) -> Vec<&str> {
        let unknown = self.names.iter().filter(|name| named(&self.buckets, name).is_none());
        unknown.map(String::as_str).collect()
    }

    /// Returns the buckets whose whole state is needed. If there are too many for a frame, those around the selected
    /// one.
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
