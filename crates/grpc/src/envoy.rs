//! `envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`: the domain is the service, each descriptor a request.
//! All are decided together: if any is over the limit, the whole call is, and none is charged.

use dripfeed_auth::Scope;
use dripfeed_limit::{
    CombinedDecision, Decision, Mode, PolicyVerdict, Request as Checked, Services, TierVerdict, Wait,
};
use tonic::{Request, Response, Status};

use crate::access::{Access, in_turn, unknown_service};
use crate::descriptor::{DescribedRequest, check_entries};
use crate::rate_limit_service::rate_limit_response::rate_limit::Unit;
use crate::rate_limit_service::rate_limit_response::{Code, DescriptorStatus, RateLimit};
use crate::rate_limit_service::rate_limit_service_server::RateLimitService;
use crate::rate_limit_service::{Duration as ProtoDuration, HeaderValue, RateLimitRequest, RateLimitResponse};
use crate::refusal::refusal;

/// Maximum number of descriptors, as each one is checked against all policies.
const MOST_DESCRIPTORS: usize = 16;

pub(crate) struct Envoy {
    services: Services,
    access: Access,
    older_fields: bool,
}

impl Envoy {
    pub(crate) const fn new(services: Services, access: Access, older_fields: bool) -> Self {
        Self { services, access, older_fields }
    }
}

#[tonic::async_trait]
impl RateLimitService for Envoy {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let RateLimitRequest { domain, descriptors, .. } = request.get_ref();
        let (caller, service) = self.access.allow(&request, Scope::Submit, domain)?;
        if !(1..=MOST_DESCRIPTORS).contains(&descriptors.len()) {
            return Err(Status::invalid_argument(format!("descriptors: give 1 to {MOST_DESCRIPTORS}")));
        }
        check_entries(descriptors)?;
        let turn = self.access.turn(&caller, request.extensions()).await;
        let (services, asked) = (self.services.clone(), request.into_inner());
        let check = async move {
            let described = asked.descriptors.iter().enumerate();
            let described: Vec<DescribedRequest<'_>> = described
                .map(|(place, descriptor)| DescribedRequest::read(place, descriptor, asked.hits_addend))
                .collect::<Result<_, _>>()?;
            let requests: Vec<Checked<'_>> = described.iter().map(|described| described.request(caller.id())).collect();
            services.check_together(&service, &requests).await.map_err(|error| refusal(&error))
        };
        let combined = in_turn(turn, check).await?;
        Ok(Response::new(self.answer(&combined.ok_or_else(unknown_service)?)))
    }
}

impl Envoy {
    fn answer(&self, combined: &CombinedDecision) -> RateLimitResponse {
        let decision = &combined.decision;
        RateLimitResponse {
            overall_code: code(decision.allowed).into(),
            statuses: combined.requests().map(|verdicts| status(&verdicts)).collect(),
            response_headers_to_add: self.fields(decision),
            raw_body: decision.message().unwrap_or_default().into_bytes(),
        }
    }

    fn fields(&self, decision: &Decision) -> Vec<HeaderValue> {
        let mut fields = decision.fields();
        if self.older_fields {
            fields.extend(decision.older_fields());
        }
        let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let field = |(name, value): &(http::HeaderName, http::HeaderValue)| HeaderValue {
            key: name.to_string(),
            value: text(value),
        };
        fields.iter().map(field).collect()
    }
}

const fn code(allowed: bool) -> Code {
    if allowed { Code::Ok } else { Code::OverLimit }
}

/// The status of the tier that refuses for longest, or has the least remaining.
fn status(verdicts: &[&PolicyVerdict]) -> DescriptorStatus {
    let enforced = verdicts.iter().filter(|verdict| verdict.policy.settings().mode == Mode::Enforce);
    let tiers = enforced.flat_map(|verdict| verdict.tiers.iter().map(move |tier| (verdict, tier)));
    let Some((verdict, tier)) = tiers.max_by_key(|(_, tier)| (tier.wait, u64::MAX - tier.shown_remaining())) else {
        return DescriptorStatus { code: Code::Ok.into(), ..DescriptorStatus::default() };
    };
    DescriptorStatus {
        code: code(tier.wait == Wait::Ready).into(),
        current_limit: Some(limit(verdict, tier)),
        limit_remaining: u32::try_from(tier.shown_remaining()).unwrap_or(u32::MAX),
        duration_until_reset: Some(duration(tier)),
    }
}

fn limit(verdict: &PolicyVerdict, tier: &TierVerdict) -> RateLimit {
    let unit = match (tier.period.as_secs(), tier.period.subsec_nanos()) {
        (1, 0) => Unit::Second,
        (60, 0) => Unit::Minute,
        (3_600, 0) => Unit::Hour,
        (86_400, 0) => Unit::Day,
        (604_800, 0) => Unit::Week,
        _ => Unit::Unknown,
    };
    RateLimit {
        name: verdict.policy.id().to_string(),
        requests_per_unit: u32::try_from(tier.limit).unwrap_or(u32::MAX),
        unit: unit.into(),
    }
}

fn duration(tier: &TierVerdict) -> ProtoDuration {
    ProtoDuration {
        seconds: i64::try_from(tier.reset.as_secs()).unwrap_or(i64::MAX),
        // Below 10⁹.
        nanos: i32::try_from(tier.reset.subsec_nanos()).unwrap_or(0),
    }
}
