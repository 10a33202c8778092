//! Converts Envoy's rate-limit descriptors to requests.
//!
//! An entry's key names the attribute: `method`, `path`, `caller`, `tenant`, or `remote_address` for the client's
//! address. Any other key is a header of that name, which rules count by as `header:<name>`.

use std::collections::HashSet;
use std::net::IpAddr;

use dripfeed_job::rate::MAX_EXACT_INTEGER;
use dripfeed_limit::Request;
use http::{HeaderMap, HeaderName, HeaderValue};
use tonic::Status;

use crate::rate_limit_service::RateLimitDescriptor;
use crate::rate_limit_service::rate_limit_descriptor::Entry;

/// The same as the maximum number of headers of a request.
pub(crate) const MOST_ENTRIES: usize = 128;

/// An error, because one of the two values would be ignored.
const TWICE: &str = "the key is given twice";

/// A request as a descriptor describes it.
#[derive(Debug, Default)]
pub(crate) struct DescribedRequest<'d> {
    method: &'d str,
    path: &'d str,
    caller: Option<&'d str>,
    tenant: Option<&'d str>,
    ip: Option<IpAddr>,
    headers: HeaderMap,
    cost: Option<u64>,
}

fn invalid_descriptor(place: usize, reason: &str) -> Status {
    Status::invalid_argument(format!("descriptors[{place}].{reason}"))
}

/// Refuses descriptors with too many entries, which take many times the memory of their message.
pub(crate) fn check_entries(descriptors: &[RateLimitDescriptor]) -> Result<(), Status> {
    match descriptors.iter().position(|descriptor| descriptor.entries.len() > MOST_ENTRIES) {
        Some(place) => Err(invalid_descriptor(place, &format!("entries: give at most {MOST_ENTRIES}"))),
        None => Ok(()),
    }
}

impl<'d> DescribedRequest<'d> {
    /// Parses the descriptor at `place`; `hits` is the default cost of all descriptors.
    pub(crate) fn read(place: usize, descriptor: &'d RateLimitDescriptor, hits: u32) -> Result<Self, Status> {
        let bad = |reason: &str| invalid_descriptor(place, reason);
        if descriptor.limit.is_some() {
            return Err(bad("limit: not supported; limits come from the registered rules"));
        }
        if descriptor.is_negative_hits {
            return Err(bad("is_negative_hits: not supported; consumed quota can't be refunded"));
        }
        let own = descriptor.hits_addend.as_ref().map(|hits| hits.value);
        let cost = own.or((hits > 0).then_some(u64::from(hits)));
        if cost.is_some_and(|cost| cost >= MAX_EXACT_INTEGER) {
            return Err(bad("hits_addend: use a whole number below 2^53"));
        }
        let mut described = Self { cost, ..Self::default() };
        let mut attributes = HashSet::new();
        for (at, entry) in descriptor.entries.iter().enumerate() {
            let added = described.add(entry);
            let once = added.and_then(|()| if attributes.insert(&entry.key) { Ok(()) } else { Err(TWICE) });
            once.map_err(|reason| bad(&format!("entries[{at}]: {reason}")))?;
        }
        Ok(described)
    }

    fn add(&mut self, Entry { key, value }: &'d Entry) -> Result<(), &'static str> {
        match key.as_str() {
            "method" => self.method = value,
            "path" => {
                Request::new("", value).check_path().map_err(|_| "the path has a segment `.` or `..`: resolve it")?;
                self.path = value;
            }
            "caller" => self.caller = Some(value),
            "tenant" => self.tenant = Some(value),
            "remote_address" => self.ip = Some(value.parse().map_err(|_| "not a valid IP address")?),
            name => {
                let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the key is not a valid header name")?;
                let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| "not a valid header value")?;
                if self.headers.insert(name, value).is_some() {
                    return Err(TWICE);
                }
            }
        }
        Ok(())
    }

    /// `key_id` is the caller if the descriptor has none.
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
