//! What operators do, and what they leave behind.

mod client;
mod client_in_tower;
mod dead;
mod doctor;
mod edited_replay;
/// Metrics of how jobs end.
mod ends_are_counted;
mod export;
mod installation;
/// What is logged of jobs, where all of them fail.
mod job_log;
/// What is logged while Redis is away.
mod outage_log;
/// Changes by `If-Match`.
mod preconditions;
/// Real payloads, pushed through a small bucket.
mod push;
/// Two who change one thing at once.
mod racing;
/// Who was refused by which limit, as all intakes count it.
mod refusals;
mod replays;
/// What systemd learns of a role.
mod service_manager;
/// Metrics of the settings that a process has.
mod settings_in_force;
/// Processors asked to end while a call hangs.
mod shutdown;
/// What an idle role doesn't hold any more.
mod start_code;
/// A log whose reader stands still.
mod unread_log;
