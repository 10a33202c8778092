//! `RegisterService` and `ShouldForwardRequest`.

use std::net::IpAddr;

use dripfeed_auth::{Caller, Scope};
use dripfeed_http::limits::MOST_BYTES;
use dripfeed_job::rate::MAX_EXACT_INTEGER;
use dripfeed_limit::{Request as LimitRequest, Services};
use http::{HeaderMap, HeaderName, HeaderValue};
use tonic::{Request, Response, Status};

use crate::access::{Access, in_turn, unknown_service, waiter};
use crate::descriptor::MOST_ENTRIES;
use crate::proto::{
    RegisterServiceRequest, RegisterServiceResponse, ShouldForwardRequestResponse, ShouldForwardsRequestRequest,
    rate_limiter_server,
};
use crate::refusal::{invalid, refusal};
use crate::{answer, rules};

const REGISTERED: i32 = 1;

pub(crate) struct RateLimiter {
    services: Services,
    access: Access,
}

impl RateLimiter {
    pub(crate) const fn new(services: Services, access: Access) -> Self {
        Self { services, access }
    }
}

#[tonic::async_trait]
impl rate_limiter_server::RateLimiter for RateLimiter {
    async fn register_service(
        &self,
        request: Request<RegisterServiceRequest>,
    ) -> Result<Response<RegisterServiceResponse>, Status> {
        let message = request.get_ref();
        let name = rules::name(message.service_id, &message.service)?;
        let (caller, service) = self.access.allow(&request, Scope::Operate, &name)?;
        let rules = rules::read(message)?;
        // Limits the number of concurrent changes.
        let turn = self.access.lookup_turn(waiter(&caller, request.extensions())).await;
        let services = self.services.clone();
        let put = async move { services.put(&service, &rules, caller.id()).await.map_err(|error| refusal(&error)) };
        in_turn(turn, put).await?;
        Ok(Response::new(RegisterServiceResponse { status: REGISTERED, error: String::new() }))
    }

    async fn should_forward_request(
        &self,
        request: Request<ShouldForwardsRequestRequest>,
    ) -> Result<Response<ShouldForwardRequestResponse>, Status> {
        let message = request.get_ref();
        let name = rules::name(message.service_id, &message.service)?;
        let (caller, service) = self.access.allow(&request, Scope::Submit, &name)?;
        check_headers(message)?;
        let turn = self.access.turn(&caller, request.extensions()).await;
        let (services, message) = (self.services.clone(), request.into_inner());
        let check = async move {
            let headers = headers(&message)?;
            let request = limit_request(&message, &caller, &headers)?;
            services.check(&service, &request).await.map_err(|error| refusal(&error))
        };
        let decision = in_turn(turn, check).await?;
        Ok(Response::new(answer::of(&decision.ok_or_else(unknown_service)?)))
    }
}

fn limit_request<'r>(
    message: &'r ShouldForwardsRequestRequest,
    caller: &'r Caller,
    headers: &'r HeaderMap,
) -> Result<LimitRequest<'r>, Status> {
    let texts = [&message.method, &message.path, &message.request, &message.tenant].map(String::len);
    let headers_len: usize = message.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if texts.iter().sum::<usize>() + headers_len > MOST_BYTES {
        let detail = format!("method, path, request, tenant and headers have at most {MOST_BYTES} bytes together");
        return Err(Status::invalid_argument(detail));
    }
    let non_empty = |text: &'r String| (!text.is_empty()).then_some(text.as_str());
    let ip = |text: &str| text.parse::<IpAddr>().map_err(|_| Status::invalid_argument("ip: not a valid IP address"));
    if message.cost.is_some_and(|cost| cost >= MAX_EXACT_INTEGER) {
        return Err(Status::invalid_argument("cost: use a whole number below 2^53"));
    }
    let request = LimitRequest {
        method: &message.method,
        path: &message.path,
        headers: Some(headers),
        caller: non_empty(&message.request).or_else(|| caller.id()),
        tenant: non_empty(&message.tenant),
        ip: non_empty(&message.ip).map(ip).transpose()?,
        body: None,
        cost: message.cost,
    };
    request.check_path().map_err(|error| Status::invalid_argument(format!("path: {error}")))?;
    Ok(request)
}

/// Refuses too many headers, which take many times the memory of their message.
fn check_headers(message: &ShouldForwardsRequestRequest) -> Result<(), Status> {
    if message.headers.len() <= MOST_ENTRIES {
        return Ok(());
    }
    let detail = format!("headers: more than {MOST_ENTRIES}; send only those that rate limits use as keys");
    Err(Status::invalid_argument(detail))
}

fn headers(message: &ShouldForwardsRequestRequest) -> Result<HeaderMap, Status> {
    let mut headers = HeaderMap::new();
    for (name, value) in &message.headers {
        let bad = |reason| invalid(&format!("headers[{name:?}]: {reason}"));
        let header: HeaderName = name.parse().map_err(|_| bad("not a valid header name"))?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad("not a valid header value"))?;
        // One of the two values would be ignored.
        if headers.insert(header, value).is_some() {
            return Err(bad("given twice; case doesn't matter in names"));
        }
    }
    Ok(headers)
}
