//! Envoy's descriptors as requests.
//!
//! An entry's key says what its value is: `method`, `path`, `caller`, `tenant`; `remote_address` is the address that a request
//! comes from. Any other is a header of that name, so that rules count by it as `header:<name>`.

use std::net::IpAddr;

use dripfeed_job::rate::EXACT;
use dripfeed_limit::Request;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use http::{HeaderMap, HeaderName, HeaderValue};
use tonic::Status;

/// What a descriptor tells of a request.
#[derive(Debug, Default)]
pub(crate) struct Described<'d> {
    method: &'d str,
    path: &'d str,
    caller: Option<&'d str>,
    tenant: Option<&'d str>,
    ip: Option<IpAddr>,
    headers: HeaderMap,
    cost: Option<u64>,
}

impl<'d> Described<'d> {
    /// Reads the descriptor at `place`; `hits` are those of all that don't say otherwise.
    pub(crate) fn read(place: usize, descriptor: &'d RateLimitDescriptor, hits: u32) -> Result<Self, Status> {
        let bad = |reason: &str| Status::invalid_argument(format!("descriptors[{place}].{reason}"));
        if descriptor.limit.is_some() {
            return Err(bad("limit: limits are those of the registered rules, and not a request's"));
        }
        if descriptor.is_negative_hits {
            return Err(bad("is_negative_hits: what was consumed can't be given back here"));
        }
        let own = descriptor.hits_addend.as_ref().map(|hits| hits.value);
        let cost = own.or((hits > 0).then_some(u64::from(hits)));
        if cost.is_some_and(|cost| cost >= EXACT) {
            return Err(bad("hits_addend: use a whole number below 2^53"));
        }
        let mut described = Self { cost, ..Self::default() };
        for (at, entry) in descriptor.entries.iter().enumerate() {
            described.take(entry).map_err(|reason| bad(&format!("entries[{at}]: {reason}")))?;
        }
        Ok(described)
    }

    fn take(&mut self, Entry { key, value }: &'d Entry) -> Result<(), &'static str> {
        match key.as_str() {
            "method" => self.method = value,
            "path" => self.path = value,
            "caller" => self.caller = Some(value),
            "tenant" => self.tenant = Some(value),
            "remote_address" => self.ip = Some(value.parse().map_err(|_| "this is no address")?),
            name => {
                let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the key is no name of a header")?;
                let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| "no header has this value")?;
                self.headers.append(name, value);
            }
        }
        Ok(())
    }

    /// `key_id` is the caller when the descriptor names none.
    pub(crate) fn request<'r>(&'r self, key_id: Option<&'r str>) -> Request<'r> {
        Request {
            method: self.method,
            path: self.path,
            headers: Some(&self.headers),
            caller: self.caller.or(key_id),
            tenant: self.tenant,
            ip: self.ip,
            body: None,
            cost: self.cost,
        }
    }
}
