//! The bucket: a bounded queue in Redis in front of one upstream. Each verb is a file, with the Lua script of the same
//! name beside it.
//!
//! The way of a job: `admission` enqueues it (`admit`); `deliver` claims it at the bucket's `pace` (`take`) and records
//! the result of the attempt (`settle`: complete, park, dead-letter); `recover` requeues the jobs of a dead replica.
//! `ended` keeps outcomes, dead letters and idempotency keys. `inspect` reads a bucket, `operate` changes it, and
//! `history` keeps time series of the last day. `schedule` submits jobs at their times, and `outbox` moves outcome jobs
//! to other buckets. `define` stores the buckets created over the API. `settings` are configured, or changed at run
//! time. `script` and `kind` contain what scripts share, and what differs between a stream and a list.
//!
//! **Architecture invariant:** a job leaves the stream in the script that records its outcome, and nowhere else.

mod admission;
mod bucket;
mod define;
mod deliver;
mod ended;
mod error;
mod history;
mod inspect;
mod kind;
mod operate;
mod outbox;
mod pace;
mod processor_scripts;
mod schedule;
mod script;
mod settings;

pub use admission::add_refusals::{MAX_REFUSAL_COUNTERS, RefusalCounts, Refusals};
pub use admission::admission_request::Origin;
pub use admission::parsing::parse;
pub use admission::{
    Admission, AdmissionDecision, Admitted, CallerShare, MAX_SHARE, PendingAdmission, RefusalReason, Refused,
};
pub use bucket::{Bucket, Buckets};
pub use define::changed_definitions::{DefinitionChange, KnownDefinitions};
pub use define::definition::Definition;
pub use define::deletion::begin_deletion::BeginDeletionResult;
pub use define::deletion::close_bucket::CloseResult;
pub use define::deletion::reopen_bucket::{DECIDED_WITHIN, ReopenResult};
pub use define::deletion::suspend_bucket::{LastJob, SuspendResult};
pub use define::leftover_data::{LeftoverData, leftover_data};
pub use define::open_bucket::OpenResult;
pub use define::put_definition::{DefinitionBounds, NewDefinition, PutDefinitionResult};
pub use deliver::charge::Charge;
pub use deliver::permit::Permit;
pub use deliver::recover::Recovery;
pub use deliver::replica::{Consumer, JoinKind, Replica};
pub use deliver::settle::{FailedCall, Feedback, SettleResult, Settlement};
pub use deliver::standby::sweeper::{SWEEP_INTERVAL, Sweep, Sweeper, announce_jobs, with_jobs};
pub use deliver::standby::{Announcements, Standby};
pub use deliver::take::{Claim, ClaimedJob, Idle, Take};
pub use ended::dead_letters::dead_groups::{DeadGroup, DeadGroups};
pub use ended::dead_letters::{DeadFilter, DeadLetter};
pub use ended::ended_job::EndedJob;
pub use ended::outcomes::{Latency, Report};
pub use ended::replay::{ReplayCounts, ReplayResult};
pub use ended::replays::replay_task::{ReplayId, ReplayState, ReplayTask};
pub use ended::replays::{CancelReplayResult, with_replays};
pub use ended::retention::Retention;
pub use error::BucketError;
pub use history::call_stats::{AnswerClass, CallStats};
pub use history::latency_sketch::Quantiles;
pub use history::list_history::History;
pub use history::recent_calls::RecentCalls;
pub use history::slot::HistorySlot;
pub use history::window::{BadWindow, HistoryWindow};
pub use inspect::census::{Census, Pace, ReplicaCensus};
pub use inspect::doctor::{Examination, Finding, FindingKind};
pub use inspect::find::JobView;
pub use inspect::flows::{Flow, Flows, PriorityState};
pub use inspect::holders::Holder;
pub use inspect::job_filter::{JobFilter, TimeWindow};
pub use inspect::job_payload::JobPayload;
pub use inspect::pagination::{BadCursor, Cursor, Page};
pub use inspect::served::bucket_place::BucketPlace;
pub use inspect::served::register_places::{register_places, register_places_once};
pub use inspect::served::registered_places::{RegisteredPlace, registered_places};
pub use inspect::served::{
    StrandedJobs, count_places, is_list_elsewhere, level_at, outcome_jobs_at, release_place, stranded_jobs,
};
pub use inspect::slots::Slots;
pub use operate::audit::{AuditEntry, audit_trail};
pub use operate::cancel::CancelResult;
pub use operate::moving::{MoveProgress, MoveStep, Mover};
pub use outbox::hand_over::{HandOverResult, OutboxRelay, OutboxTargets};
pub use outbox::page::outcome_jobs_of;
pub use pace::PaceTarget;
pub use pace::bounds::FairFault;
pub use processor_scripts::know_scripts_of_processors;
pub use schedule::changes::ScheduleChanges;
pub use schedule::define_schedule::{DefineScheduleResult, NewSchedule, NextTick};
pub use schedule::due_schedules::DueSchedules;
pub use schedule::end_schedules::EndScheduleResult;
pub use schedule::known_schedule::{KnownSchedule, ScheduleState};
pub use schedule::submit_ticks::{TickEnd, TickJob};
pub use script::acl::{denied_at, denied_in_scripts_at, one_of_each_kind};
pub use script::constants::{BATCH_BYTES, BATCH_JOBS, LARGEST_BODY};
pub use script::redis_bucket::EffectiveState;
pub use script::scripts::{fragments, fragments_without_rules};
pub use settings::fair::{Fair, FairBy, Weights};
pub use settings::flow_bounds::{FlowBounds, NamedFlow, NamedFlows};
pub use settings::flow_tiers::{FlowTier, FlowTiers};
pub use settings::limits::BucketLimits;
pub use settings::max_share::MaxShare;
pub use settings::on_outcome::{OnOutcome, OutcomeTarget};
pub use settings::overrides::Overrides;
pub use settings::own_limit::{NO_LIMIT, OwnLimit};
pub use settings::pace_tiers::PaceTiers;
pub use settings::run_time_settings::{RUN_TIME_SETTINGS, RunTimeSetting};
pub use settings::setting_kind::{BadSetting, SettingKind};
pub use settings::worst_case::{INSTALLATION, memory_shortfall};
pub use settings::{BucketSettings, Keep, Kind, Leak, WhenDeadFull};
