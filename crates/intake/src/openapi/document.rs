//! Completes the API description: title, security, schemas, and corrections of what the handlers generate.

use std::collections::{BTreeMap, BTreeSet};

use utoipa::openapi::schema::{ArrayItems, Schema, SchemaType, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, PathItem, Ref, RefOr, path::Operation};

use crate::openapi::{formats, responses, scopes};

/// Completes the description that the routes collected.
pub(crate) fn complete(mut api: OpenApi) -> OpenApi {
    api.info = InfoBuilder::new()
        .title("dripfeed")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "HTTP job queue with a hard size limit and a global rate limit: accepts jobs at any rate into a bounded \
             bucket, and delivers them to a rate-limited upstream, never faster than its quota.",
        ))
        .build();
    let components = api.components.get_or_insert_default();
    components.schemas.extend(responses::schemas());
    components.schemas.extend(formats::words());
    components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    let header = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("Dripfeed-Key")));
    components.add_security_scheme("key", header);
    // Each entry is an alternative; the empty one is for an intake without configured keys.
    api.security = Some(vec![
        SecurityRequirement::new("bearer", Vec::<String>::new()),
        SecurityRequirement::new("key", Vec::<String>::new()),
        SecurityRequirement::default(),
    ]);
    name_items_of_lists(&mut components.schemas);
    make_operation_ids_distinct(&mut api);
    for (path, item) in &mut api.paths.paths {
        for (method, operation) in operations(item) {
            make_parameters_non_null(operation);
            scopes::describe(path, method, operation);
        }
    }
    api
}

/// Makes the items of `List_Job` refer to the schema `Job`; utoipa generates a copy of it inline.
fn name_items_of_lists(schemas: &mut BTreeMap<String, RefOr<Schema>>) {
    let names: BTreeSet<String> = schemas.keys().cloned().collect();
    for (name, schema) in schemas {
        let Some(item) = name.strip_prefix("List_").filter(|item| names.contains(*item)) else { continue };
        let RefOr::T(Schema::Object(list)) = schema else { continue };
        if let Some(RefOr::T(Schema::Array(items))) = list.properties.get_mut("items") {
            items.items = ArrayItems::RefOrSchema(Box::new(Ref::from_schema_name(item).into()));
        }
    }
}

/// One handler may serve several methods; each operation needs a distinct id, which then ends with the method.
fn make_operation_ids_distinct(api: &mut OpenApi) {
    let ids =
        api.paths.paths.values_mut().flat_map(operations).filter_map(|(_, operation)| operation.operation_id.clone());
    let mut uses = BTreeMap::<String, usize>::new();
    ids.for_each(|id| *uses.entry(id).or_default() += 1);
    for (method, operation) in api.paths.paths.values_mut().flat_map(operations) {
        let Some(id) = operation.operation_id.as_mut().filter(|id| uses.get(*id).is_some_and(|uses| *uses > 1)) else {
            continue;
        };
        *id = format!("{id}_{method}");
    }
}

/// An optional header or query parameter is omitted, never null.
fn make_parameters_non_null(operation: &mut Operation) {
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
