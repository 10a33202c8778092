//! What texts of the environment are read as.

use std::collections::HashMap;

use serde_json::json;

use super::{Layers, Settings, layers};

#[test]
fn what_stands_in_the_environment_is_shown_as_it_was_read() {
    let set = |name: &str, value: &str| (format!("DRIPFEED__{name}"), value.to_owned());
    let environment = HashMap::from([
        set("INTAKE__MAX_BATCH", "7"),
        set("INTAKE__X_RATELIMIT_HEADERS", "false"),
        set("REDIS__PREFIX", "7"),
        set("INTAKE__DRAIN", "7s"),
        set("DEFAULTS__CAPACITY", "9"),
        set("BUCKETS__MAIL__UPSTREAM", "http://127.0.0.1:1/"),
        set("BUCKETS__MAIL__RETRY__ATTEMPTS", "3"),
        set("BUCKETS__MAIL__SIGNING_SECRET", "whsec_Y2FuYXJ5IGNhbmFyeSBjYW5hcnkgY2FuYXJ5"),
    ]);
    let shown = Settings::rendered(&Layers { environment: Some(environment), ..layers([]) }).unwrap();
    let value = |key: &str| shown.iter().find(|shown| shown.key == key).map(|shown| shown.value.clone()).unwrap();
    assert_eq!(value("intake.max_batch"), json!(7));
    assert_eq!(value("intake.x_ratelimit_headers"), json!(false));
    assert_eq!(value("defaults.capacity"), json!(9));
    assert_eq!(value("buckets.mail.retry.attempts"), json!(3));
    // Where a text is asked for, it is one.
    assert_eq!((value("redis.prefix"), value("intake.drain")), (json!("7"), json!("7s")));
    assert_eq!(value("buckets.mail.signing_secret"), json!("***"));
}
