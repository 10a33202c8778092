//! What operators do, and what they leave behind.

mod doctor;
mod edited_replay;
mod installation;
/// Real payloads, pushed through a small bucket.
mod push;
mod replays;
/// Processors asked to end while a call hangs.
mod shutdown;
