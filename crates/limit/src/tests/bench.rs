use std::sync::Arc;
use std::time::Duration;

use dripfeed_store::{
    AppendFsync, Durability, Fragment, Fragments, PrivateServer, RedisSettings, Script, ServerOptions, Store,
};
use tempfile::TempDir;

use crate::decide::clock::Clock;
use crate::decide::key_index::KeyIndex;
use crate::decide::redis_decide;
use crate::lua::FRAGMENTS;
use crate::{
    Decision, KeyPart, Limiter, Plan, Policies, Policy, PolicySettings, PolicyVerdict, Request, ScopeKeys, Tier,
};

/// 2026-01-01, at noon.
pub(crate) const NOON: u64 = 1_767_268_800_000_000;
pub(crate) const SECOND: u64 = 1_000_000;

/// A private server, with a store on it.
pub(crate) struct Bench {
    pub(crate) store: Store,
    pub(crate) server: PrivateServer,
    _dir: TempDir,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = ServerOptions { append_only: false, append_fsync: AppendFsync::No, ..ServerOptions::default() };
        let server = PrivateServer::start(dir.path(), options).await.unwrap();
        let store = patient(&server).await;
        Self { store, server, _dir: dir }
    }

    /// A limiter on its own connection, as another replica has one.
    pub(crate) async fn limiter(&self, policies: Vec<PolicySettings>) -> Limiter {
        Limiter::new(self.connect().await, "shop", self::policies(policies)).unwrap()
    }

    /// The same, with time for Redis however busy the machine is: for tests that count.
    pub(crate) async fn patient_limiter(&self, policies: Vec<PolicySettings>) -> Limiter {
        Limiter::with_timeout(self.patient_store().await, "shop", self::policies(policies), seconds(60)).unwrap()
    }

    /// A separate connection, as another intake has one.
    pub(crate) async fn patient_store(&self) -> Store {
        patient(&self.server).await
    }

    pub(crate) async fn connect(&self) -> Store {
        let settings = RedisSettings::new(self.server.address(), "dripfeed", Durability::Process);
        Store::connect(&settings).await.unwrap()
    }

    pub(crate) async fn decide_now(&self, plan: &Plan) -> Decision {
        let answer = redis_decide::decide(&self.store, &Clock::new(), plan, seconds(60)).await.unwrap();
        let told = |(scope, verdict)| PolicyVerdict::of(scope, verdict);
        Decision::of(plan.scopes().iter().zip(answer.verdicts).map(told).collect())
    }

    /// Calls of scripts so far.
    pub(crate) async fn script_calls(&self) -> u64 {
        let info: String = self.store.command(redis::cmd("INFO").arg("commandstats")).await.unwrap();
        let lines = info.lines().filter(|line| line.starts_with("cmdstat_eval"));
        let calls = lines.filter_map(|line| line.split_once("calls=")?.1.split(',').next()?.parse::<u64>().ok());
        calls.sum()
    }

    /// For [`Self::most_keys`].
    pub(crate) async fn log_scripts(&self) {
        let mut log = redis::cmd("CONFIG");
        log.arg("SET").arg("slowlog-log-slower-than").arg(0).arg("slowlog-max-len").arg(100_000);
        self.store.command::<()>(&log).await.unwrap();
    }

    /// Of all calls of scripts, that with the most keys.
    pub(crate) async fn most_keys(&self) -> usize {
        type Logged = (u64, u64, u64, Vec<Vec<u8>>, String, String);
        let get = redis::cmd("SLOWLOG").arg("GET").arg(100_000).to_owned();
        let logged: Vec<Logged> = self.store.command(&get).await.unwrap();
        let keys = logged.iter().filter(|(.., words, _, _)| words[0].starts_with(b"EVAL"));
        keys.map(|(.., words, _, _)| std::str::from_utf8(&words[2]).unwrap().parse().unwrap()).max().unwrap()
    }

    /// Runs what is to be done, each step at its time; reports are there for those that judge.
    pub(crate) async fn run(&self, steps: &[(u64, Step<'_>)]) -> Vec<Vec<i64>> {
        const CLOCK: &Fragments = &[Fragment::new("now", "local now_us = 0")];
        static STEPS: Script = Script::new("steps", &[CLOCK, FRAGMENTS], include_str!("steps.lua"));
        let mut keys = KeyIndex::default();
        let packed: Vec<Vec<u8>> = steps.iter().map(|(now, step)| step.plan().pack(&mut keys, *now)).collect();
        let mut call = STEPS.on(keys.keys());
        for ((now, step), plan) in steps.iter().zip(&packed) {
            call.arg(*now).arg(step.word()).arg(&plan[..]);
        }
        self.store.run(&call).await.unwrap()
    }

    pub(crate) async fn decide(&self, now: u64, plan: &Plan) -> Decision {
        let report = self.run(&[(now, Step::Decide(plan))]).await.remove(0);
        Decision::read(plan, &report).unwrap()
    }

    /// Until the state of the only scope expires: without the hour that steps keep it longer.
    pub(crate) async fn kept_ms(&self, plan: &Plan) -> i64 {
        let [scope] = plan.scopes() else { panic!("one scope") };
        self.store.command::<i64>(redis::cmd("PTTL").arg(&scope.key)).await.unwrap() - 3_600_000
    }

    /// Whether a call of cost 1 passes.
    pub(crate) async fn passes(&self, now: u64, policy: &Arc<Policy>) -> bool {
        self.decide(now, &plan(policy, 1)).await.allowed
    }
}

/// A store that waits for a busy machine.
async fn patient(server: &PrivateServer) -> Store {
    let settings = RedisSettings::new(server.address(), "dripfeed", Durability::Process);
    Store::connect(&RedisSettings { response_timeout: seconds(60), ..settings }).await.unwrap()
}

/// What is done at one time.
#[derive(Clone, Copy)]
pub(crate) enum Step<'p> {
    Decide(&'p Plan),
    Refund(&'p Plan),
    Release(&'p Plan),
    /// Reports room, wait and refill.
    Room(&'p Plan),
    /// The same, where there is nothing that could have been lost.
    Begin(&'p Plan),
    /// Reports when the next thirty will have passed.
    Passing(&'p Plan),
    /// The same, when a clock that nobody sets says that at most a second has passed.
    RoomWithinSecond(&'p Plan),
    Spend(&'p Plan),
    /// Room for calls that may begin up to 200 ms later; what is spent next is spent so.
    RoomOfLate(&'p Plan),
    /// Spends all that is granted up to 20 ms ahead. Reports how many calls these are, and when they may begin.
    SpendAhead(&'p Plan),
}

impl<'p> Step<'p> {
    fn word(self) -> &'static str {
        match self {
            Self::Decide(_) => "decide",
            Self::Refund(_) => "refund",
            Self::Release(_) => "release",
            Self::Room(_) => "room",
            Self::Begin(_) => "begin",
            Self::Passing(_) => "passing",
            Self::RoomWithinSecond(_) => "room_within_second",
            Self::Spend(_) => "spend",
            Self::RoomOfLate(_) => "room_of_late",
            Self::SpendAhead(_) => "spend_ahead",
        }
    }

    fn plan(self) -> &'p Plan {
        match self {
            Self::Decide(plan)
            | Self::Refund(plan)
            | Self::Release(plan)
            | Self::Room(plan)
            | Self::Begin(plan)
            | Self::Passing(plan)
            | Self::RoomWithinSecond(plan)
            | Self::Spend(plan)
            | Self::RoomOfLate(plan)
            | Self::SpendAhead(plan) => plan,
        }
    }
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn keys() -> ScopeKeys {
    ScopeKeys::new("dripfeed", "tigerfeeding", dripfeed_store::Salt::default())
}

/// An enforced policy per caller.
pub(crate) fn settings(id: &str, tiers: Vec<Tier>) -> PolicySettings {
    PolicySettings { key: vec![KeyPart::Caller], ..PolicySettings::new(id.parse().unwrap(), tiers) }
}

pub(crate) fn policy(tiers: Vec<Tier>) -> Arc<Policy> {
    Arc::new(Policy::new(settings("limit", tiers)).unwrap())
}

/// A request of the caller `acme` that costs `n`, under one policy.
pub(crate) fn plan(policy: &Arc<Policy>, n: u64) -> Plan {
    plan_of(&[policy.as_ref().clone()], n)
}

pub(crate) fn plan_of(policies: &[Policy], n: u64) -> Plan {
    let policies = Policies::new(policies.to_vec()).unwrap();
    let request = Request { caller: Some("acme"), cost: Some(n), ..Request::new("GET", "/") };
    Plan::new(&policies, &keys(), &request)
}

pub(crate) fn policies(settings: Vec<PolicySettings>) -> Policies {
    Policies::new(settings.into_iter().map(|settings| Policy::new(settings).unwrap()).collect()).unwrap()
}

/// A call of one caller.
pub(crate) fn call(caller: &str) -> Request<'_> {
    Request { caller: Some(caller), ..Request::new("GET", "/") }
}
