//! A permit: the right to make one call within a short time after its token, granted by the take of its job.
//!
//! **The ceiling.** In any window of w seconds at most rate · w + burst calls begin, over all replicas. This holds
//! however late replies of Redis are, and however long a process is suspended between a reply and its calls:
//!
//! - A take announces the time within which its calls will begin (`valid`). The replica measures that time from before
//!   it sends the take, by its monotonic clock. So a call that is granted at T, by the Redis clock, begins at some S
//!   with T ≤ S ≤ E = T + `valid`, or not at all: an older permit isn't used, and its job is requeued without counting
//!   an attempt or a delivery. Another take is charged again, and the first charge may be refunded (charge.rs).
//! - **Buckets and gates.** Let τ be the time of one token, b the burst, and V the time at which everything charged
//!   will have drained. A grant of n needs V + nτ ≤ T + bτ, and then sets V = max(V, E) + nτ: a call doesn't drain
//!   before it has begun. Take any window from a to c with m calls in it, and the first and the last of their grants.
//!   The first one's call began at a or later, so after it V ≥ a + τ, and before the last one V ≥ a + (m − 1)τ. The
//!   last one's call began at c or earlier, so it was granted by then: a + mτ ≤ c + bτ, that is, m ≤ (c − a)/τ + b.
//!   Nothing is assumed about the order of calls, about which replica makes them, or which ones die.
//! - **Ahead.** With a small burst, the time from a token to the take for it would be lost. So a take may be granted
//!   the tokens of the near future ([`AHEAD`]), each with the time at which its call may begin: a grant of n needs
//!   V + nτ ≤ D + bτ, where D ≥ T is the earliest time at which the last of them begins. The replica waits for it,
//!   counting from the reply. In the proof the last one has D ≤ c in place of T. The first one still began by
//!   T + `valid`: of several buckets only one may make it wait, and the others count it from T. This is only done while
//!   `valid` isn't charged (below), and no caller has a rate limit: then calls don't wait.
//! - Up to [`PROMPT`] of `valid` isn't charged by E (`undrained`). Instead the burst keeps room for it (pace.rs), which
//!   gives the same bound: m ≤ (c − a + PROMPT)/τ + b′, with a b′ that is lower by PROMPT/τ. If all of `valid` is
//!   charged, that room is for the time that the machine needs to send many requests at once. A burst that is too small
//!   keeps at least 1: its calls may be closer together than a period by PROMPT. Otherwise a pace of 1000 a second
//!   without a burst could never be used.
//! - **Rates of callers.** Calls that wait would delay those of other callers, so none are granted ahead. Instead a
//!   caller that waits for a token keeps up to [`TOKENS_KEPT`] = k of the time until the next take:
//!   V = max(V, T − k) + nτ. In exchange only PROMPT − k of `valid` isn't charged: together that is PROMPT, so the
//!   bound is the same.
//! - **Windows** (`fixed`) count a call in the window in which it begins: at the end of a window nothing is granted
//!   whose E is in the next one. If `valid` is more than half of a window, that would close it. Then a window begins
//!   with the count of the one before it while grants of that one may still be used (`unsent` in pace.lua).
//!
//! A grant whose `valid` is too short is charged but not used. So replicas adapt `valid` to the lateness that they
//! observe (`Lateness`): if replies become late, one take is lost, and the next one is granted enough time. The pace is
//! then used in full if its burst lasts longer than replies take, and otherwise as far as the ceiling allows.
//!
//! A call begins when its request is given to the connections of its upstream. The time to make a new connection isn't
//! counted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_timer::Delay;
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::deliver::charge::Charge;
use crate::script::pace_constants::{PACE_LATEST, TOKENS_KEPT};

/// How late calls may begin without being charged for it. More than they usually are while Redis and the machine are
/// well. The burst keeps room for it.
pub(crate) const PROMPT: Duration = Duration::from_millis(25);

/// The same if callers have rate limits.
pub(crate) const PROMPT_OF_CALLERS: Duration = PROMPT.saturating_sub(Duration::from_micros(TOKENS_KEPT));

/// How long before its time a call is granted. Half of it is left for the next take to come in time. Not longer,
/// because granted jobs are claimed, and jobs of new callers wait for them. Less than a third of [`PROMPT`], the
/// minimum that [`Lateness`] leaves for the wait.
const AHEAD: Duration = Duration::from_millis(8);

/// The maximum of `valid`, which is also at most half of the lease, so that a replica that was declared dead makes no
/// calls.
const MAX_VALID: Duration = Duration::from_micros(PACE_LATEST);

/// The replies from which the lateness is computed: those within `RECENT`, at least `MIN_REPLIES`.
const MIN_REPLIES: usize = 8;
const RECENT: Duration = Duration::from_secs(1);
const MAX_REPLIES: usize = 256;

/// For longer sleeps an error of a millisecond doesn't matter.
const SHORT: Duration = Duration::from_millis(100);

/// For how long granted calls don't drain: for nothing of a short `valid`, for all of a long one. `prompt`: how late
/// they may begin without being charged for it.
pub(crate) fn undrained(valid: Duration, prompt: Duration) -> Duration {
    valid.min(valid.saturating_sub(prompt) * 2)
}

/// How long before their time a pace with a bucket grants calls that are made within `valid`: zero unless the burst
/// keeps room for all of `valid`.
pub(crate) fn ahead(valid: Duration) -> Duration {
    if undrained(valid, PROMPT).is_zero() { AHEAD } else { Duration::ZERO }
}

/// The right to make one call.
#[derive(Debug)]
pub struct Permit {
    asked: Instant,
    /// How long after the grant the call may begin, and when that is at the latest.
    token_in: Duration,
    token_at: Instant,
    valid: Duration,
    lateness: Lateness,
    /// `None` if the pace isn't refunded for calls that aren't made.
    charge: Option<Charge>,
}

impl Permit {
    /// The permit was granted between `asked` and `answered`. `token_in`: time from the grant to its token.
    pub(crate) fn new(
        asked: Instant,
        answered: Instant,
        token_in: Duration,
        valid: Duration,
        lateness: Lateness,
    ) -> Self {
        Self { asked, token_in, token_at: answered + token_in, valid, lateness, charge: None }
    }

    pub(crate) fn with_charge(self, charge: Option<Charge>) -> Self {
        Self { charge, ..self }
    }

    /// What the pace was charged, to be refunded if no call is made (`Feedback::unused`).
    #[must_use]
    pub fn charge(&self) -> Option<Charge> {
        self.charge.clone()
    }

    /// Waits for the call's token. Returns whether the call may begin now. If not, because Redis or this process took
    /// too long, the job must be requeued.
    pub async fn spend(self) -> bool {
        if !self.token_in.is_zero() {
            precise_sleep(self.token_at.saturating_duration_since(Instant::now())).await;
        }
        let age = self.asked.elapsed();
        self.lateness.saw_call(age.saturating_sub(self.token_in));
        age < self.valid
    }
}

/// Measures how late the calls of a replica begin, from before their take was sent.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    /// For each reply: when it came, and the lateness of the reply or of the latest call after it. The latest is at the
    /// back.
    seen: Arc<Mutex<VecDeque<(Instant, Duration)>>>,
    longest: Duration,
}

impl Lateness {
    /// A replica is declared dead no earlier than half of its lease after its last heartbeat.
    pub(crate) fn new(lease: Duration) -> Self {
        Self { seen: Arc::default(), longest: MAX_VALID.min(lease / 2).max(PROMPT) }
    }

    pub(crate) fn saw_reply(&self, age: Duration) {
        self.saw_reply_at(age, Instant::now());
    }

    fn saw_call(&self, age: Duration) {
        if let Some((_, latest)) = self.seen.lock().back_mut() {
            *latest = age.max(*latest);
        }
    }

    /// The minimum `valid` of the next take: one and a half times the maximum of the recent replies.
    pub(crate) fn needed(&self) -> Duration {
        let latest = self.seen.lock().iter().map(|(_, latest)| *latest).max().unwrap_or_default();
        self.longest.min(latest * 3 / 2)
    }

    /// The maximum `valid`, which takes without a pace use.
    pub(crate) const fn longest(&self) -> Duration {
        self.longest
    }

    fn saw_reply_at(&self, age: Duration, now: Instant) {
        let mut seen = self.seen.lock();
        seen.push_back((now, age));
        let is_old = |(came, _): &(Instant, Duration)| now.saturating_duration_since(*came) >= RECENT;
        while seen.len() > MAX_REPLIES || seen.len() > MIN_REPLIES && seen.front().is_some_and(is_old) {
            seen.pop_front();
        }
    }
}

/// Sleeps with an error of less than a millisecond. Timers of tokio count whole ones, and a bucket without a burst
/// loses the time by which its calls are late: 5 % of 100 calls a second.
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
        assert_eq!(lateness.needed(), MAX_VALID);
        for reply in 0..2 * MAX_REPLIES {
            lateness.saw_reply_at(ms(1), start + Duration::from_secs(8));
            assert_eq!(lateness.needed() < PROMPT, reply + 1 >= MAX_REPLIES, "{reply}");
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
