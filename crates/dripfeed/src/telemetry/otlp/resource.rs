//! The description of this process in its traces, by the semantic conventions of OpenTelemetry.

use std::iter::repeat_with;

use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::Resource;

const INSTANCE: Key = Key::from_static_str("service.instance.id");

/// `OTEL_RESOURCE_ATTRIBUTES` of the environment may add attributes, and set the id of the instance.
pub(super) fn resource(role: &str) -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let service = format!("dripfeed-{role}");
    let is_set = Resource::builder().build().get(&INSTANCE).is_some();
    let instance = (!is_set).then(|| KeyValue::new(INSTANCE, random_uuid()));
    Resource::builder().with_service_name(service).with_attribute(version).with_attributes(instance).build()
}

/// A UUID of version 4.
fn random_uuid() -> String {
    let digits = |number: usize| repeat_with(|| fastrand::digit(16)).take(number).collect::<String>();
    let variant = ['8', '9', 'a', 'b'][fastrand::usize(..4)];
    format!("{}-{}-4{}-{variant}{}-{}", digits(8), digits(4), digits(3), digits(3), digits(12))
}
