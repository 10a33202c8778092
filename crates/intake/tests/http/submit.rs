/// Many jobs in one request.
mod batches;
/// Groups that take turns.
mod groups;
/// Invalid options, in every form.
mod options;
/// Targets of outcomes that a job chooses.
mod outcome_targets;
/// Options as query parameters.
mod parameters;
/// Large requests, and those of many parts.
mod parsing;
/// Priorities, and how high a key's jobs may be.
mod priorities;
/// Proxied requests.
mod proxying;
/// One job in one request.
mod single;
/// `Prefer: wait`.
mod waiting;
