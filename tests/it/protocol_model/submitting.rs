//! Callers and intakes: one request, one batch, asked again under its token until the answer is known.

use super::bucket::{Admission, Call, Rules, Token};
use super::bug::Bug;
use super::world::{Fate, INTAKES, World};

/// What may become of a call to admit.
pub const FATES: [Fate; 5] = [Fate::Answered, Fate::ReplyLost, Fate::Late, Fate::CallerDies, Fate::Refused];

/// Someone with one piece of work. The first one sends an idempotency key, and so may ask again when left without an
/// answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    pub number: u8,
    pub requests: u8,
    pub knows: Knowledge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Knowledge {
    /// Nothing was sent yet.
    Fresh,
    /// Waits for the answer to its last request.
    Waiting,
    /// 202.
    Accepted,
    /// 429.
    Refused,
    /// 503 `not_stored`.
    NotStored,
    /// 503 `unknown`, or the connection broke.
    Unknown,
}

/// What an intake is busy with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    pub token: Token,
    pub intake: u8,
    /// An earlier call had no answer.
    pub again: bool,
    /// Only with `Bug::RoomBeforeAppend`.
    pub saw_room: bool,
}

impl Caller {
    pub const fn new(number: u8) -> Self {
        Self { number, requests: 0, knows: Knowledge::Fresh }
    }

    pub const fn has_key(&self) -> bool {
        self.number == 0
    }

    pub fn wants_to_ask(&self) -> bool {
        self.knows == Knowledge::Fresh || self.knows == Knowledge::Unknown && self.has_key()
    }

    pub const fn last_request(&self) -> Token {
        Token { caller: self.number, request: self.requests }
    }
}

impl Request {
    pub fn call(&self, world: &World) -> Call {
        let key = world.callers[usize::from(self.token.caller)].has_key();
        Call::Admit { token: self.token, key, again: self.again }
    }
}

impl World {
    /// A second request goes to the other intake.
    pub fn submit(&mut self, caller: u8, rules: Rules) {
        let asking = self.caller(caller);
        asking.requests += 1;
        asking.knows = match rules.has(Bug::AcceptedBeforeWritten) {
            true => Knowledge::Accepted,
            false => Knowledge::Waiting,
        };
        let (token, intake) = (asking.last_request(), (caller + asking.requests) % INTAKES);
        self.requests.push(Request { token, intake, again: false, saw_room: false });
        self.requests.sort_unstable_by_key(|request| request.token);
    }

    pub fn look_for_room(&mut self, token: Token, rules: Rules) {
        let has_room = self.bucket.level() < rules.capacity;
        if let Some(request) = self.request(token) {
            request.saw_room = has_room;
        }
        if !has_room {
            self.answer(token, Admission::Full);
        }
    }

    pub fn answer(&mut self, token: Token, admission: Admission) {
        self.tell(
            token,
            match admission {
                Admission::Admitted(_) => Knowledge::Accepted,
                Admission::Full => Knowledge::Refused,
            },
        );
    }

    /// What may have been stored before isn't surely unstored by a later refusal.
    pub fn not_stored(&mut self, token: Token, again: bool) {
        if !again {
            self.tell(token, Knowledge::NotStored);
        }
    }

    pub fn admit_again(&mut self, token: Token) {
        if let Some(request) = self.request(token) {
            request.again = true;
        }
    }

    /// The intake has asked for long enough.
    pub fn give_up(&mut self, token: Token) {
        self.tell(token, Knowledge::Unknown);
    }

    /// The caller's connection breaks; its request goes on.
    pub fn break_off(&mut self, caller: u8) {
        self.caller(caller).knows = Knowledge::Unknown;
    }

    pub fn crash_intake_of(&mut self, token: Token) {
        if let Some(intake) = self.request(token).map(|request| request.intake) {
            self.crash_intake(intake);
        }
    }

    /// It is back at once, knowing nothing.
    pub fn crash_intake(&mut self, intake: u8) {
        for token in self
            .requests
            .iter()
            .filter(|request| request.intake == intake)
            .map(|request| request.token)
            .collect::<Vec<_>>()
        {
            self.tell(token, Knowledge::Unknown);
        }
    }

    /// The end of a request. A caller that has turned away meanwhile doesn't hear it.
    fn tell(&mut self, token: Token, knows: Knowledge) {
        self.requests.retain(|request| request.token != token);
        let caller = self.caller(token.caller);
        if caller.knows == Knowledge::Waiting && caller.last_request() == token {
            caller.knows = knows;
        }
    }

    fn caller(&mut self, number: u8) -> &mut Caller {
        &mut self.callers[usize::from(number)]
    }

    fn request(&mut self, token: Token) -> Option<&mut Request> {
        self.requests.iter_mut().find(|request| request.token == token)
    }
}
