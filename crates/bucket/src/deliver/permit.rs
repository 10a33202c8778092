//! A permit: the right to one call, granted by the take of its job, for a short time from when its token comes.
//!
//! **The ceiling.** In any window of w seconds at most rate · w + burst calls begin, over all replicas. It holds
//! however late replies of Redis are, and however long a process is stopped between a reply and its calls:
//!
//! - A take says before it is sent within which time its calls will begin (`valid`). The replica counts that time from
//!   before the take was sent, by its monotonic clock. So a call that is granted at T, by the clock of Redis, begins at
//!   some S with T ≤ S ≤ E = T + `valid`, or not at all: a permit that is older isn't used, and its job goes back as
//!   due, without an attempt or a delivery counted. What was charged for it stays charged; another take is charged
//!   again.
//! - **Buckets and gates.** Let τ be the time of one token, b the burst, and V the time at which all that was charged
//!   will have drained. A grant of n needs V + nτ ≤ T + bτ, and then sets V = max(V, E) + nτ: a call doesn't drain
//!   before it has begun. Take any window from a to c with m calls in it, and of their grants the first and the last.
//!   The first one's call began at a or later, so after it V ≥ a + τ, and before the last one V ≥ a + (m − 1)τ. The
//!   last one's call began at c or earlier, so it was granted by then: a + mτ ≤ c + bτ, which is m ≤ (c − a)/τ + b.
//!   Nothing is assumed of the order of calls, of who makes them, or of who dies.
//! - **Ahead.** If each token of a small burst had to be asked for when it comes, what passes until the take would be
//!   lost. So a take may be granted those of the next time ([`AHEAD`]), each with the time at which its call
//!   may begin: a grant of n needs V + nτ ≤ D + bτ, where D ≥ T is when the last of them begins at the earliest, for
//!   which the replica waits from when the reply came. In the proof the last one has D ≤ c in place of T. The first one
//!   began by T + `valid` all the same: of several buckets only one may make it wait, and the others count it from T.
//!   This is done only where `valid` isn't charged (below), and no caller has a rate limit: such calls don't wait.
//! - Of `valid`, up to [`PROMPT`] isn't charged by E (`undrained`), but kept free in the burst (pace.rs), which comes
//!   to the same: m ≤ (c − a + PROMPT)/τ + b′, with a b′ that is lower by PROMPT/τ. Where all of `valid` is charged,
//!   that room is for what the machine needs to send many requests at once. A burst that is too small for that keeps at
//!   least 1: its calls may be closer together than a period by PROMPT. Otherwise a pace of 1000 a second without a
//!   burst could never be used.
//! - **Rates of callers.** Other callers would wait behind calls that wait, so none of these is granted ahead. Instead
//!   a caller that waits for a token keeps what comes until a take does, up to [`TOKENS_KEPT`] = k:
//!   V = max(V, T − k) + nτ. In exchange less of `valid` isn't charged, PROMPT − k: together that is PROMPT, so the
//!   bound is the same.
//! - **Windows** (`fixed`) count a call in the window in which it begins: at the end of a window nothing is granted
//!   whose E is in the next one. Where `valid` is more than half of a window, that would close it. Then a window begins
//!   with the count of the one before it, while grants of that one may still be used (`unsent` in pace.lua).
//!
//! Grants without a `valid` that is long enough are charged and not used. So replicas follow what they see
//! (`Lateness`): with replies that stay late, one take is lost, and the next is granted with the time it needs. A pace
//! is then used in full where its burst lasts longer than replies take, and otherwise as far as the ceiling lets it.
//!
//! A call begins when its request is given to the connections of its upstream. Making a new connection takes time that
//! isn't counted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_timer::Delay;
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::script::pace_constants::{PACE_LATEST, TOKENS_KEPT};

/// How late calls begin when Redis and the machine are well, and more than that: a burst keeps room for it.
pub(crate) const PROMPT: Duration = Duration::from_millis(25);

/// The same where each caller has a rate, too.
pub(crate) const PROMPT_OF_CALLERS: Duration = PROMPT.saturating_sub(Duration::from_micros(TOKENS_KEPT));

/// How long before its time a call is granted. Half of that is left for the next take to come in time. What is granted
/// is claimed, and newcomers wait behind it: so no longer than that. And less than a third of [`PROMPT`], which
/// [`Lateness`] leaves at least to wait in.
const AHEAD: Duration = Duration::from_millis(8);

/// The longest `valid`; and half of the lease, so that nobody calls who was declared dead meanwhile.
const LATEST: Duration = Duration::from_micros(PACE_LATEST);

/// What was seen last is believed: of this many replies at least, and of so long.
const REPLIES: usize = 8;
const TIME: Duration = Duration::from_secs(1);
const MOST_REPLIES: usize = 256;

/// Of a longer sleep a millisecond is a small part.
const SHORT: Duration = Duration::from_millis(100);

/// How long the calls that are granted are kept from draining: of a short time nothing, of a long one all. `prompt`:
/// how late they may begin for nothing.
pub(crate) fn undrained(valid: Duration, prompt: Duration) -> Duration {
    valid.min(valid.saturating_sub(prompt) * 2)
}

/// How long before their time calls are granted that are made within `valid`, by a pace with a bucket: no longer than
/// all of that is kept free in its burst.
pub(crate) fn ahead(valid: Duration) -> Duration {
    if undrained(valid, PROMPT).is_zero() { AHEAD } else { Duration::ZERO }
}

/// The right to make one call.
#[derive(Debug)]
pub struct Permit {
    asked: Instant,
    /// How long after it was granted the call may begin, and when that has passed.
    token_in: Duration,
    token_at: Instant,
    valid: Duration,
    lateness: Lateness,
}

impl Permit {
    /// `token_in`: after `asked` and after `answered`, between which it was granted.
    pub(crate) fn new(
        asked: Instant,
        answered: Instant,
        token_in: Duration,
        valid: Duration,
        lateness: Lateness,
    ) -> Self {
        Self { asked, token_in, token_at: answered + token_in, valid, lateness }
    }

    /// Waits for the call's token. Whether the call may begin now: it may not if Redis or this process took too long.
    /// Then the job is requeued.
    pub async fn spend(self) -> bool {
        if !self.token_in.is_zero() {
            precise_sleep(self.token_at.saturating_duration_since(Instant::now())).await;
        }
        let age = self.asked.elapsed();
        self.lateness.saw_call(age.saturating_sub(self.token_in));
        age < self.valid
    }
}

/// How late the replies to one replica's takes are, and the calls after them, counted from before the take was sent.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    /// When a reply came, and how late it was or the latest call after it; the last is at the back.
    seen: Arc<Mutex<VecDeque<(Instant, Duration)>>>,
    longest: Duration,
}

impl Lateness {
    /// Of a replica that is declared dead no earlier than half of this lease after it was last heard of.
    pub(crate) fn new(lease: Duration) -> Self {
        Self { seen: Arc::default(), longest: LATEST.min(lease / 2).max(PROMPT) }
    }

    pub(crate) fn saw_reply(&self, age: Duration) {
        self.saw_reply_at(age, Instant::now());
    }

    fn saw_call(&self, age: Duration) {
        if let Some((_, latest)) = self.seen.lock().back_mut() {
            *latest = age.max(*latest);
        }
    }

    /// What the calls of the next take need at least: half as much again as what was seen of late.
    pub(crate) fn needed(&self) -> Duration {
        let latest = self.seen.lock().iter().map(|(_, latest)| *latest).max().unwrap_or_default();
        self.longest.min(latest * 3 / 2)
    }

    /// Where there is no pace to be kept.
    pub(crate) const fn longest(&self) -> Duration {
        self.longest
    }

    fn saw_reply_at(&self, age: Duration, now: Instant) {
        let mut seen = self.seen.lock();
        seen.push_back((now, age));
        let is_old = |came: Instant| now.saturating_duration_since(came) >= TIME;
        while seen.len() > MOST_REPLIES || seen.len() > REPLIES && seen.front().is_some_and(|(came, _)| is_old(*came)) {
            seen.pop_front();
        }
    }
}

/// Ends within a fraction of a millisecond. Timers of tokio count whole ones: a bucket without burst loses all that its
/// tokens wait for their calls, a twentieth of a hundred a second.
pub(super) async fn precise_sleep(wait: Duration) {
    if wait < SHORT {
        Delay::new(wait).await;
    } else {
        sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_sleep_ends_early() {
        for wait in [Duration::ZERO, Duration::from_micros(10), Duration::from_micros(1500), SHORT] {
            let begun = Instant::now();
            precise_sleep(wait).await;
            assert!(begun.elapsed() >= wait, "{wait:?}");
        }
    }

    #[tokio::test]
    async fn a_permit_is_used_in_time_or_not_at_all() {
        let lateness = Lateness::new(Duration::from_mins(1));
        let (minute, at_once, now) = (Duration::from_mins(1), Duration::ZERO, Instant::now());
        let Some(before) = now.checked_sub(minute) else { return };
        assert!(Permit::new(before, now, at_once, minute * 2, lateness.clone()).spend().await);
        assert!(!Permit::new(before, now, at_once, minute, lateness).spend().await);
    }

    #[tokio::test]
    async fn a_permit_waits_for_its_token_and_is_good_no_longer_for_that() {
        let lateness = Lateness::new(Duration::from_mins(1));
        let (token_in, minute, now) = (Duration::from_millis(30), Duration::from_mins(1), Instant::now());
        assert!(Permit::new(now, now, token_in, minute, lateness.clone()).spend().await);
        assert!(now.elapsed() >= token_in);
        let Some(before) = now.checked_sub(minute) else { return };
        assert!(Permit::new(before, before, minute / 2, minute * 2, lateness.clone()).spend().await);
        assert!(!Permit::new(before, before, minute / 2, minute, lateness).spend().await);
    }

    #[test]
    fn the_next_take_is_granted_the_time_that_those_before_it_needed() {
        let (lateness, start) = (Lateness::new(Duration::from_mins(1)), Instant::now());
        let ms = Duration::from_millis;
        assert_eq!(lateness.needed(), Duration::ZERO);
        lateness.saw_reply_at(ms(800), start);
        assert_eq!(lateness.needed(), ms(1200));
        // Of few replies none is forgotten, however long ago it came.
        for second in 1..8 {
            lateness.saw_reply_at(ms(2), start + Duration::from_secs(second));
        }
        assert_eq!(lateness.needed(), ms(1200));
        lateness.saw_reply_at(ms(2), start + Duration::from_secs(8));
        assert_eq!(lateness.needed(), ms(3));
        lateness.saw_call(ms(40));
        assert_eq!(lateness.needed(), ms(60));
        lateness.saw_call(Duration::from_mins(1));
        assert_eq!(lateness.needed(), LATEST);
        for reply in 0..2 * MOST_REPLIES {
            lateness.saw_reply_at(ms(1), start + Duration::from_secs(8));
            assert_eq!(lateness.needed() < PROMPT, reply + 1 >= MOST_REPLIES, "{reply}");
        }
    }

    #[test]
    fn nothing_is_granted_ahead_of_its_time_where_calls_may_be_late() {
        assert_eq!([25, 26].map(|valid| ahead(Duration::from_millis(valid))), [AHEAD, Duration::ZERO]);
    }

    #[test]
    fn a_long_time_is_charged_in_full() {
        let ms = Duration::from_millis;
        assert_eq!([25, 30, 50, 800].map(|valid| undrained(ms(valid), ms(25))), [0, 10, 50, 800].map(ms));
        assert_eq!([20, 25, 40, 800].map(|valid| undrained(ms(valid), ms(20))), [0, 10, 40, 800].map(ms));
    }
}
