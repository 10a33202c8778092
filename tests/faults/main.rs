//! Whole services under faults: processes killed, stopped and let go on, Redis gone and back. What was accepted is kept.

/// What the containers of docker-compose.yml would run, run as processes.
mod compose;
/// Processors killed, stopped in their tracks, and asked to end, under load.
mod processors;
/// The lines of the README and what they show.
mod redis_cli;
/// Redis killed and started again under load.
mod redis_gone;
/// Real payloads, pushed through a small bucket.
mod webhooks;
