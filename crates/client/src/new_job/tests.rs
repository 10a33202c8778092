#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

#[test]
fn options_are_headers() {
    let job = NewJob::json(&1).unwrap().delay(Duration::from_millis(1500)).header("X-A", "1").idempotency_key("k");
    let headers = job.delay(Duration::from_secs(90)).keyed().headers().unwrap();
    let shown: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    assert_eq!(shown.len(), 4, "{shown:?}");
    for header in ["content-type: application/json", "idempotency-key: k", "dripfeed-delay: 1m 30s"] {
        assert!(shown.iter().any(|shown| shown == header), "{shown:?}");
    }
}

#[test]
fn each_option_can_be_set_by_its_name() {
    let second = Duration::from_secs(1);
    let job = NewJob::new("").idempotency_key("k").delay(second).not_before("t").expires_in(second).method("PUT");
    let job = job.path("/").priority(Priority::High).group("g").on_outcome("none").retries(1).timeout(second);
    assert_eq!(job.options.iter().map(|(option, _)| *option).collect::<Vec<_>>(), OptionName::ALL);
}

#[test]
fn an_option_that_no_header_can_contain_is_refused() {
    assert_eq!(NewJob::new("").path("a\nb").headers(), Err(BadOption::Value("dripfeed-path".to_owned())));
    assert_eq!(NewJob::new("").header("a b", "1").headers(), Err(BadOption::HeaderName("a b".to_owned())));
}

#[test]
fn generated_idempotency_keys_are_unique() {
    let key = || NewJob::new("").keyed().options;
    assert_ne!(key(), key());
}
