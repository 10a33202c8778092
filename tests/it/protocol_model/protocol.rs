//! Every step that anyone can take, in every state: what the checker walks through.

use stateright::{Model, Property};

use super::bucket::{Call, Consumer, JobId, Rules, Token};
use super::bug::Bug;
use super::processing::{self, Processor};
use super::promises;
use super::submitting::{self, Knowledge};
use super::world::{Fate, INTAKES, World};

/// How much there is of everything.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    pub callers: u8,
    /// How many things go wrong at most, in one history.
    pub faults: u8,
    pub rules: Rules,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Submit { caller: u8 },
    LookForRoom { token: Token },
    GiveUp { token: Token },
    Join { processor: u8, fate: Fate },
    CallUpstream { consumer: Consumer, job: JobId, succeeds: bool },
    Redis { call: Call, fate: Fate },
    Recover { consumer: Consumer },
    // Faults, beside those that befall a call to Redis or to the upstream:
    BreakOff { caller: u8 },
    CrashIntake { intake: u8 },
    CrashProcessor { processor: u8 },
    DeclareDead { consumer: Consumer },
    // The end of a fault:
    Arrive { late: usize, call: Call },
}

impl Model for Protocol {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.callers, self.faults)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        self.work(world, steps);
        arrivals(world, steps);
        if world.faults > 0 {
            self.faults(world, steps);
        } else {
            steps.retain(|step| !step.is_fault());
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        next.faults -= u8::from(step.is_fault());
        next.take_step(&step, self.rules);
        next.forget();
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises::all()
    }
}

impl Step {
    const fn is_fault(&self) -> bool {
        match self {
            Self::Redis { fate, .. } | Self::Join { fate, .. } => fate.is_fault(),
            Self::CallUpstream { succeeds, .. } => !*succeeds,
            Self::BreakOff { .. }
            | Self::CrashIntake { .. }
            | Self::CrashProcessor { .. }
            | Self::DeclareDead { .. } => true,
            _ => false,
        }
    }
}

impl Protocol {
    pub fn has_room_for_all(&self) -> bool {
        usize::from(self.callers) <= self.rules.capacity
    }

    /// Whether all is done that can be done: what remains is what may still go wrong, or arrive late.
    pub fn is_at_rest(&self, world: &World) -> bool {
        let mut steps = Vec::new();
        self.work(world, &mut steps);
        steps.is_empty()
    }

    fn work(&self, world: &World, steps: &mut Vec<Step>) {
        self.submissions(world, steps);
        // Processors are alike, so it makes no difference which one is the first to take.
        let some = if world.is_untaken() { &world.processors[..1] } else { &world.processors };
        for processor in some {
            self.processing(world, processor, steps);
        }
        if !self.rules.has(Bug::RecoveryOff) {
            let names = world.bucket.group.iter().map(|enrolled| enrolled.consumer);
            let dead = names.filter(|name| world.is_dead(*name) && world.is_observed(*name));
            steps.extend(dead.map(|consumer| Step::Recover { consumer }));
        }
    }

    fn submissions(&self, world: &World, steps: &mut Vec<Step>) {
        let callers = world.callers.iter().filter(|caller| caller.wants_to_ask());
        steps.extend(callers.map(|caller| Step::Submit { caller: caller.number }));
        for request in &world.requests {
            let token = request.token;
            if self.rules.has(Bug::RoomBeforeAppend) && !request.saw_room {
                steps.push(Step::LookForRoom { token });
                continue;
            }
            steps.extend(submitting::FATES.map(|fate| Step::Redis { call: request.call(world), fate }));
            if request.again {
                steps.push(Step::GiveUp { token });
            }
        }
    }

    fn processing(&self, world: &World, processor: &Processor, steps: &mut Vec<Step>) {
        match processor.alive(&world.bucket) {
            Some(life) if life.doubt || processor.has_a_free_slot() => {
                steps.extend(with_fates(life.requests(&world.bucket, self.rules)));
            }
            Some(_) => {}
            None => {
                let fates = [Fate::Answered, Fate::ReplyLost];
                steps.extend(fates.map(|fate| Step::Join { processor: processor.number, fate }));
            }
        }
        for life in &processor.lives {
            let consumer = life.consumer;
            for job in life.to_call(self.rules) {
                steps.extend([true, false].map(|succeeds| Step::CallUpstream { consumer, job, succeeds }));
            }
            steps.extend(with_fates(life.settlements(self.rules)));
        }
    }

    fn faults(&self, world: &World, steps: &mut Vec<Step>) {
        let waiting = world.callers.iter().filter(|caller| caller.knows == Knowledge::Waiting);
        steps.extend(waiting.map(|caller| Step::BreakOff { caller: caller.number }));
        let busy = (0..INTAKES).filter(|intake| world.requests.iter().any(|request| request.intake == *intake));
        steps.extend(busy.map(|intake| Step::CrashIntake { intake }));
        // The death of a replica that has nothing and asks for nothing is no news.
        for processor in world.processors.iter().filter(|processor| world.has_something_at_stake(processor)) {
            steps.push(Step::CrashProcessor { processor: processor.number });
            let alive = processor.alive(&world.bucket).map(|life| life.consumer);
            let observed = alive.filter(|consumer| world.is_observed(*consumer) && !self.rules.has(Bug::RecoveryOff));
            steps.extend(observed.map(|consumer| Step::DeclareDead { consumer }));
        }
    }
}

fn with_fates(calls: Vec<Call>) -> impl Iterator<Item = Step> {
    calls.into_iter().flat_map(|call| processing::FATES.map(|fate| Step::Redis { call: call.clone(), fate }))
}

/// A take that arrives late gets what is there then.
fn arrivals(world: &World, steps: &mut Vec<Step>) {
    for (late, call) in world.late.iter().enumerate() {
        match call {
            Call::Take { consumer, number, .. } => {
                let (consumer, number) = (*consumer, *number);
                let picks = world.bucket.takeable().into_iter();
                steps.extend(picks.map(|pick| Step::Arrive { late, call: Call::Take { consumer, number, pick } }));
            }
            _ => steps.push(Step::Arrive { late, call: call.clone() }),
        }
    }
}

impl World {
    fn take_step(&mut self, step: &Step, rules: Rules) {
        match step {
            Step::Submit { caller } => self.submit(*caller, rules),
            Step::LookForRoom { token } => self.look_for_room(*token, rules),
            Step::GiveUp { token } => self.give_up(*token),
            Step::Join { processor, fate } => self.join(*processor, *fate),
            Step::CallUpstream { consumer, job, succeeds } => self.call_upstream(*consumer, *job, *succeeds, rules),
            Step::Redis { call, fate } => self.call(call, *fate, rules),
            Step::Recover { consumer } => self.bucket.recover(*consumer, rules),
            Step::BreakOff { caller } => self.break_off(*caller),
            Step::CrashIntake { intake } => self.crash_intake(*intake),
            Step::CrashProcessor { processor } => self.crash_processor(*processor),
            Step::DeclareDead { consumer } => self.declare_dead(*consumer, rules),
            Step::Arrive { late, call } => self.arrive(*late, call, rules),
        }
    }
}
