//! What the documents and files of the repository say, tried out.

/// A bucket moves, as the operations guide says.
mod another_redis;
/// What the containers of docker-compose.yml would run, run as processes.
mod compose;
mod contributing;
/// The READMEs of crates, and the compose file.
mod crates;
/// What KEDA asks, as its manifests say.
mod keda;
/// The commands of the operations guide.
mod on_outcome;
mod operations;
/// Files that README.md and SECURITY.md name.
mod paths;
/// The lines of the README and what they show.
mod redis_cli;
/// Secrets, as the operations guide has them changed.
mod rotating;
/// The figures of the operations guide.
mod sizing;
