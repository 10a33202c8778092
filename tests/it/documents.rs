//! What the documents and files of the repository say, tried out.

/// A bucket moves, as the operations guide says.
mod another_redis;
/// The batch of the README.
mod batch;
/// What the containers of docker-compose.yml would run, run as processes.
mod compose;
mod contributing;
/// The READMEs of crates, and the compose file.
mod crates;
/// Which way calls take.
mod direct_calls;
/// What KEDA asks, as its manifests say.
mod keda;
/// A Redis that somebody else operates.
mod managed_redis;
/// The completion webhook of the README.
mod on_outcome;
/// The commands of the operations guide.
mod operations;
/// Files that README.md and SECURITY.md name.
mod paths;
/// The lines of the README and what they show.
mod redis_cli;
/// Secrets, as the operations guide has them changed.
mod rotating;
/// The figures of the operations guide.
mod sizing;
