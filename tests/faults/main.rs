//! Whole services in what may happen to them. Faults under load, with every invariant after each, are in `torture`.

/// What the containers of docker-compose.yml would run, run as processes.
mod compose;
/// Processors asked to end while a call hangs.
mod processors;
/// The lines of the README and what they show.
mod redis_cli;
/// Real payloads, pushed through a small bucket.
mod webhooks;
