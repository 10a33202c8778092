/// Many jobs in one request.
mod batches;
/// Invalid options, in every form.
mod options;
/// Large requests, and those of many parts.
mod parsing;
/// Proxied requests.
mod proxying;
/// One job in one request.
mod single;
/// `Prefer: wait`.
mod waiting;
