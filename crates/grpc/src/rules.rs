//! Converts a registration to the rules of a service.

use dripfeed_job::unique_members;
use dripfeed_limit::Rules;
use serde_json::{Value, json};
use tonic::Status;

use crate::proto::{RegisterServiceRequest, Rule};
use crate::refusal::invalid;

/// Returns the name of a service, which may be the digits of its number.
pub(crate) fn name(number: i32, name: &str) -> Result<String, Status> {
    match (number, name) {
        (0, "") => Err(Status::invalid_argument("missing service: give `service_id`, 1 or more, or `service`")),
        (1.., "") => Ok(number.to_string()),
        (0, name) => Ok(name.to_owned()),
        (_, "") => {
            Err(Status::invalid_argument(format!("service_id: {number} is not a valid service number; use 1 or more")))
        }
        _ => Err(Status::invalid_argument("service_id and service are both given; remove one of them")),
    }
}

pub(crate) fn read(request: &RegisterServiceRequest) -> Result<Rules, Status> {
    let document = match (&request.rule, request.rules.as_str()) {
        (Some(rule), "") => of_rule(rule)?,
        (None, "") => return Err(Status::invalid_argument("missing rules: give `rule` or `rules`")),
        (None, text) => unique_members::from_str(text).map_err(|error| bad("rules", &error))?,
        _ => return Err(Status::invalid_argument("rule and rules are both given; remove one of them")),
    };
    Rules::of(document).map_err(|error| bad(if request.rule.is_some() { "rule" } else { "rules" }, &error))
}

fn bad(field: &str, error: &dyn ToString) -> Status {
    invalid(&format!("{field}: {}", error.to_string()))
}

/// Converts a rule to a policy: a sliding window per caller.
fn of_rule(rule: &Rule) -> Result<Value, Status> {
    let rate = rule.rate.as_ref().ok_or_else(|| Status::invalid_argument("rule.rate: missing"))?;
    let period = match rate.unit {
        0 => "1s",
        1 => "1m",
        2 => "1h",
        3 => "1d",
        unit => {
            let message =
                format!("rule.rate.unit: {unit} is not a valid unit; use 0 (second), 1 (minute), 2 (hour) or 3 (day)");
            return Err(Status::invalid_argument(message));
        }
    };
    let id = if rule.field.is_empty() { "rule" } else { &rule.field };
    let message = (!rule.error_message.is_empty()).then_some(&rule.error_message);
    let limit = u64::try_from(rate.requests_per_unit).unwrap_or(0);
    let tier = json!({ "kind": "sliding", "limit": limit, "period": period });
    Ok(json!({ "policies": [{ "id": id, "key": ["caller"], "tiers": [tier], "message": message }] }))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::proto::Rate;

    fn rule(requests_per_unit: i32, unit: i32) -> RegisterServiceRequest {
        let rate = Some(Rate { requests_per_unit, unit });
        let rule = Rule { field: String::new(), rate, error_message: "later".to_owned() };
        RegisterServiceRequest { service_id: 1, rule: Some(rule), ..RegisterServiceRequest::default() }
    }

    fn refused(request: &RegisterServiceRequest) -> String {
        read(request).unwrap_err().message().to_owned()
    }

    #[test]
    fn a_published_rule_is_a_sliding_window_for_each_caller() {
        for (unit, period) in [(0, "1s"), (1, "1m"), (2, "1h"), (3, "1d")] {
            let tiers = [json!({ "kind": "sliding", "limit": 10, "period": period })];
            let policy = json!({ "id": "rule", "key": ["caller"], "tiers": tiers, "message": "later" });
            assert_eq!(read(&rule(10, unit)).unwrap().document(), &json!({ "policies": [policy] }));
        }
    }

    #[test]
    fn an_invalid_rule_is_refused_with_the_reason() {
        assert!(refused(&rule(10, 4)).starts_with("rule.rate.unit: 4 is not a valid unit"));
        assert!(refused(&rule(-1, 1)).starts_with("rule: policies[0].tiers[0]: a limit of 0"));
        assert!(refused(&RegisterServiceRequest::default()).starts_with("missing rules"));
        let both = RegisterServiceRequest { rules: "{}".to_owned(), ..rule(1, 1) };
        assert!(refused(&both).contains("both"));
        let odd = RegisterServiceRequest { rules: "{\"policies\":1}".to_owned(), ..RegisterServiceRequest::default() };
        assert!(refused(&odd).starts_with("rules: send an object"));
    }

    #[test]
    fn a_service_has_a_number_or_a_name() {
        assert_eq!(name(7, "").unwrap(), "7");
        assert_eq!(name(0, "shop").unwrap(), "shop");
        for (number, text) in [(0, ""), (-1, ""), (1, "shop")] {
            assert!(name(number, text).is_err(), "{number} {text}");
        }
    }
}
