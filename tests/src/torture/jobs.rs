//! The jobs of a run. Each job and the answers to its calls depend only on the seed and its number.

use bytes::Bytes;
use fastrand::Rng;

/// Part of all secrets of a run, and of longer bodies.
pub const CANARY: &str = "canary";
const LONGEST: usize = 64 << 10;

/// The upstream's answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedAnswer {
    Ok,
    /// 500.
    Failed,
    /// 429 with `Retry-After`.
    Throttled,
    /// No answer until the caller times out.
    Silent,
    /// The connection is closed in the middle of the answer.
    Cut,
}

#[derive(Clone, Copy, Debug)]
pub struct Jobs {
    seed: u64,
    /// Whether the upstream answers every call.
    prompt: bool,
    /// Whether the upstream throttles only if a row requests it.
    patient: bool,
}

/// The number of groups for fair queuing.
pub const GROUPS: usize = 10;
/// The highest first. Jobs without a priority have the one in the middle.
pub const PRIORITIES: [&str; 3] = ["high", "normal", "low"];

impl Jobs {
    pub const fn new(seed: u64) -> Self {
        Self { seed, prompt: false, patient: false }
    }

    #[must_use]
    pub const fn answered_promptly(self) -> Self {
        Self { prompt: true, ..self }
    }

    #[must_use]
    pub const fn answered_patiently(self) -> Self {
        Self { patient: true, ..self }
    }

    /// A generator for a decision about a job; `salt` differs between decisions.
    pub fn draw(&self, number: u64, salt: u64) -> Rng {
        let mixed = (self.seed ^ number.rotate_left(24) ^ salt.rotate_left(52)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Rng::with_seed(mixed ^ (mixed >> 29))
    }

    /// 0 to 64 KiB, most of them small.
    pub fn body(&self, number: u64) -> Bytes {
        let mut draw = self.draw(number, 1);
        let length = match draw.u32(0..100) {
            0..5 => 0,
            5..85 => draw.usize(1..512),
            85..99 => draw.usize(512..4096),
            _ => draw.usize(4096..=LONGEST),
        };
        let mut body = vec![0; length];
        draw.fill(&mut body);
        if let Some(head) = body.get_mut(..CANARY.len()) {
            head.copy_from_slice(CANARY.as_bytes());
        }
        body.into()
    }

    /// The idempotency key; half of the jobs have one.
    pub fn key(&self, number: u64) -> Option<String> {
        self.draw(number, 2).bool().then(|| format!("torture-{number}"))
    }

    /// The group for fair queuing.
    pub fn group(&self, number: u64) -> String {
        format!("g{}", self.group_number(number))
    }

    pub fn group_number(&self, number: u64) -> usize {
        self.draw(number, 4).usize(0..GROUPS)
    }

    /// The priority; most jobs have none.
    pub fn priority(&self, number: u64) -> Option<&'static str> {
        match self.draw(number, 5).u32(0..10) {
            0 => Some(PRIORITIES[0]),
            1 => Some(PRIORITIES[2]),
            _ => None,
        }
    }

    /// The answer to the `call`-th call of a job, counted from 0, and its delay in ms.
    pub fn answer(&self, number: u64, call: u32) -> (PlannedAnswer, u64) {
        let mut draw = self.draw(number, 100 + u64::from(call));
        let answer = match draw.u32(0..100) {
            0..90 => PlannedAnswer::Ok,
            90..94 => PlannedAnswer::Failed,
            94..96 if !self.patient => PlannedAnswer::Throttled,
            96..98 if !self.prompt => PlannedAnswer::Silent,
            96.. => PlannedAnswer::Cut,
            // Answers that this upstream doesn't give.
            _ => PlannedAnswer::Ok,
        };
        (answer, draw.u64(0..15))
    }
}
