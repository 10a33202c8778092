use serde_json::Value;

use super::{Names, check, printed};

#[tokio::test]
async fn the_http_api_keeps_its_names() {
    let description: Value = serde_json::from_str(&printed(&["openapi"]).await).expect("JSON");
    let mut names = Names::new();
    for (path, methods) in members(&description["paths"]) {
        for (method, operation) in members(methods) {
            let operation_name = format!("{} {path}", method.to_uppercase());
            // What generators make the name of a function of.
            names.insert(format!("{operation_name} = {}", operation["operationId"].as_str().unwrap_or_default()));
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let part = |member: &str| parameter[member].as_str().unwrap_or_default().to_owned();
                names.insert(format!("{operation_name} {} {}", part("in"), part("name")));
            }
            for (status, answer) in members(&operation["responses"]) {
                names.insert(format!("{operation_name} -> {status}"));
                for (header, _) in members(&answer["headers"]) {
                    names.insert(format!("{operation_name} -> {status} header {header}"));
                }
            }
        }
    }
    for (schema, description) in members(&description["components"]["schemas"]) {
        collect(schema, description, &mut names);
    }
    check("http", &names);
}

/// Members of objects and texts that a value may be, however deep.
fn collect(place: &str, schema: &Value, names: &mut Names) {
    for (member, schema) in members(&schema["properties"]) {
        let place = format!("{place}.{member}");
        collect(&place, schema, names);
        names.insert(place);
    }
    for value in schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        names.insert(format!("{place} = {value}"));
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        for schema in schema[several].as_array().into_iter().flatten() {
            collect(place, schema, names);
        }
    }
    for one in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(one) {
            collect(place, schema, names);
        }
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
