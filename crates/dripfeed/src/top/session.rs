//! A session of the view: frames, keys and timer ticks in, rendered lines out.

use std::time::{Duration, Instant};

use dripfeed_client::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::app::{App, Note, Request};
use super::draw::{self, Theme};
use super::feed::{self, FeedEvent};
use super::screen::{Input, Screen, inputs};
use crate::background;
use crate::client::RequestError;
use crate::exit::Failure;
use crate::signals;

/// How often the screen is drawn without events, as it shows how old the numbers are.
const REDRAW: Duration = Duration::from_secs(1);
/// The most frames that wait to be drawn, and the most outcomes of actions.
const MOST_EVENTS: usize = 8;

/// Shows the view until the user quits, a signal stops it, or the terminal is closed.
///
/// # Errors
/// When the server can't be reached at the start, refuses the key, or the terminal can't be used.
pub(super) async fn run(server: Client, names: Vec<String>, theme: Theme) -> Result<(), Failure> {
    // A failure at the start is an error of the command. The screen shows later ones.
    let (installation, _) = feed::open(&server, &names).await?;
    let app = App::new(server.server().to_owned(), names, installation);
    let mut session =
        Session { theme, results: mpsc::channel(MOST_EVENTS), feed: Feed::start(&server, app.wanted()), app, server };
    let stop = signals::stop_with_terminal()?;
    let mut screen = Screen::open()?;
    let mut inputs = inputs();
    let mut ticks = interval(REDRAW);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = Instant::now();
        screen.draw(|area, buffer| draw::screen(&session.app, session.theme, now, area, buffer))?;
        session.feed.want(session.app.wanted());
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            input = inputs.recv() => match input {
                Some(Input::Key(key)) => match session.app.press(key) {
                    Some(Request::Quit) => return Ok(()),
                    Some(Request::Operate { bucket, pause }) => session.operate(bucket, pause),
                    None => {}
                },
                Some(Input::Other) => {}
                None => return Ok(()),
            },
            Some(event) = session.feed.events.recv() => session.app.receive(event, Instant::now()),
            Some(note) = session.results.1.recv() => session.app.note = Some(note),
            _ = ticks.tick() => {}
        }
    }
}

struct Session {
    app: App,
    theme: Theme,
    server: Client,
    feed: Feed,
    /// The outcomes of actions.
    results: (mpsc::Sender<Note>, mpsc::Receiver<Note>),
}

impl Session {
    /// Pauses or resumes a bucket in the background, so that frames are shown meanwhile.
    fn operate(&self, bucket: String, pause: bool) {
        let (server, results) = (self.server.clone(), self.results.0.clone());
        background::spawn(async move {
            let (verb, done) = if pause { ("pause", "paused") } else { ("resume", "resumed") };
            let note = match server.post(&format!("/v1/buckets/{bucket}/{verb}")).await {
                Ok(_) => Note { text: format!("{bucket} is {done}"), is_error: false },
                Err(error) => {
                    Note { text: format!("{bucket} isn't {done}: {}", RequestError::from(error)), is_error: true }
                }
            };
            // Fails if the session has ended.
            let _ = results.send(note).await;
        });
    }
}

/// The task that reads the stream. It ends with the session.
struct Feed {
    wanted: watch::Sender<Vec<String>>,
    events: mpsc::Receiver<FeedEvent>,
    task: AbortHandle,
}

impl Feed {
    fn start(server: &Client, names: Vec<String>) -> Self {
        let (wanted, wants) = watch::channel(names);
        let (publish, events) = mpsc::channel(MOST_EVENTS);
        let task = background::spawn(feed::run(server.clone(), wants, publish)).abort_handle();
        Self { wanted, events, task }
    }

    /// Changes the buckets whose whole states are needed. The stream is opened again if they differ.
    fn want(&self, names: Vec<String>) {
        self.wanted.send_if_modified(|wanted| {
            let changes = *wanted != names;
            *wanted = names;
            changes
        });
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}
