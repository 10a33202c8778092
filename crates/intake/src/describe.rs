//! The API's description: what the routes don't tell by themselves.

use std::collections::BTreeSet;

use utoipa::openapi::schema::{Schema, SchemaType, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, PathItem, RefOr, path::Operation};

use crate::refusals;

/// Completes what the routes collected.
pub(crate) fn complete(mut api: OpenApi) -> OpenApi {
    api.info = InfoBuilder::new()
        .title("dripfeed")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Takes work over HTTP as fast as callers send it, holds it in a bounded bucket, and lets it leak to a fragile \
             upstream at the pace the upstream can bear.",
        ))
        .build();
    let components = api.components.get_or_insert_default();
    components.schemas.extend(refusals::schemas());
    components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    let header = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("Dripfeed-Key")));
    components.add_security_scheme("key", header);
    // Either of them; none where no keys are configured.
    api.security = Some(vec![
        SecurityRequirement::new("bearer", Vec::<String>::new()),
        SecurityRequirement::new("key", Vec::<String>::new()),
        SecurityRequirement::default(),
    ]);
    name_operations_apart(&mut api);
    api.paths.paths.values_mut().flat_map(operations).for_each(|(_, operation)| parameters_are_never_null(operation));
    api
}

/// One handler may serve many methods: each is an operation with a name of its own.
fn name_operations_apart(api: &mut OpenApi) {
    let mut taken = BTreeSet::new();
    for item in api.paths.paths.values_mut() {
        for (method, operation) in operations(item) {
            let Some(id) = &mut operation.operation_id else { continue };
            if !taken.insert(id.clone()) {
                *id = format!("{id}_{method}");
                taken.insert(id.clone());
            }
        }
    }
}

/// A header or a part of a query is left out, or it is text.
fn parameters_are_never_null(operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else { continue };
        let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema else { continue };
        if let SchemaType::Array(types) = &mut schema.schema_type {
            types.retain(|one| *one != Type::Null);
            if let [only] = types.as_slice() {
                schema.schema_type = SchemaType::Type(only.clone());
            }
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    [
        ("get", &mut item.get),
        ("put", &mut item.put),
        ("post", &mut item.post),
        ("delete", &mut item.delete),
        ("options", &mut item.options),
        ("head", &mut item.head),
        ("patch", &mut item.patch),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}
