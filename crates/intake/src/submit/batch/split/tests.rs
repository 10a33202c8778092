#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

use super::*;

fn problem(body: &[u8], form: BatchFormat) -> Value {
    serde_json::to_value(items(body, form, 100).unwrap_err()).unwrap()
}

fn place(body: &[u8], form: BatchFormat) -> (Value, Value, Value, Value) {
    let problem = problem(body, form);
    let [status, item, line, column] = ["status", "item", "line", "column"].map(|name| problem[name].clone());
    (status, item, line, column)
}

#[test]
fn items_keep_their_text() {
    let expected = vec!["{\"body\": 1.0}", "{\"body\":\"é\\u00e9\"}"];
    let array = b"[ {\"body\": 1.0} ,\n{\"body\":\"\xc3\xa9\\u00e9\"}]\n";
    assert_eq!(items(array, BatchFormat::Array, 2).unwrap(), expected);
    assert_eq!(items(array, BatchFormat::Detect, 2).unwrap(), expected);
    let lines = b"{\"body\": 1.0}\n\n{\"body\":\"\xc3\xa9\\u00e9\"}";
    assert_eq!(items(lines, BatchFormat::Lines, 2).unwrap(), expected);
    assert_eq!(items(lines, BatchFormat::Detect, 2).unwrap(), expected);
}

#[test]
fn malformed_json_refuses_the_batch_with_its_place() {
    let as_array = |body: &[u8]| place(body, BatchFormat::Array);
    assert_eq!(as_array(b"[{\"body\":1},\n{\"body\":NaN}]"), (json!(400), json!(1), json!(2), json!(9)));
    assert_eq!(as_array(b"[{\"body\":1},{\"body\""), (json!(400), json!(1), json!(1), json!(19)));
    assert_eq!(as_array(b"[{\"body\":01}]").0, json!(400));
    assert_eq!(as_array(b"[{\"body\":\"\\x\"}]").0, json!(400));
    assert_eq!(as_array(b"[{\"body\":\"\n\"}]").0, json!(400));
    assert_eq!(as_array(b"[{\"body\":\"\xff\"}]").0, json!(400));
    assert_eq!(as_array(b"{\"body\":1}").0, json!(400));
    assert_eq!(as_array(b"[1] [2]").0, json!(400));
    let as_lines = |body: &[u8]| place(body, BatchFormat::Lines);
    assert_eq!(as_lines(b"{\"body\":1}\n\n{\"body\":Infinity}\n"), (json!(400), json!(1), json!(3), json!(9)));
    assert_eq!(as_lines(b"{\"body\":1} {\"body\":2}").0, json!(400));
    assert_eq!(as_lines(b"[\n1\n]").0, json!(400));
}

#[test]
fn deep_nesting_and_large_numbers_are_left_to_the_items() {
    let deep = format!("[{}1e400{}]", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(items(deep.as_bytes(), BatchFormat::Array, 1).unwrap(), [&deep[1..deep.len() - 1]]);
    assert_eq!(items(deep.as_bytes(), BatchFormat::Lines, 1).unwrap(), [deep.as_str()]);
}

#[test]
fn the_number_of_items_is_limited() {
    for body in ["", "\n\n", "[]"] {
        assert_eq!(problem(body.as_bytes(), BatchFormat::Detect)["code"], "bad_batch", "{body:?}");
    }
    // What follows the first item too many isn't parsed.
    assert_eq!(items(b"1\n2\n3\n?", BatchFormat::Lines, 2).unwrap_err().code(), Code::BodyTooLarge);
    assert_eq!(items(b"[1,2,3,?", BatchFormat::Array, 2).unwrap_err().code(), Code::BodyTooLarge);
}

#[test]
fn the_content_type_names_the_format() {
    let form = |content_type: &str| {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, content_type.parse().unwrap())]);
        BatchFormat::of(&headers).unwrap()
    };
    assert_eq!(form("application/json; charset=utf-8"), BatchFormat::Array);
    assert_eq!(form("application/x-ndjson"), BatchFormat::Lines);
    assert_eq!(form("Application/JSONL"), BatchFormat::Lines);
    assert_eq!(form("text/plain"), BatchFormat::Detect);
    let encoded = HeaderMap::from_iter([(header::CONTENT_ENCODING, "gzip".parse().unwrap())]);
    assert_eq!(BatchFormat::of(&encoded).unwrap_err().code(), Code::BadMediaType);
}
