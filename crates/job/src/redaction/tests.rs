#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use serde_json::json;

use super::*;

fn redaction() -> Redaction {
    Redaction::new(&["/card/number".to_owned(), "/items/0".to_owned(), "X-Api-Key".to_owned()]).unwrap()
}

#[test]
fn only_the_named_members_are_masked() {
    let of = |text: &str| redaction().redact_text(text);
    assert_eq!(of(r#"{"items":["a","b"]}"#), RedactedText::Masked(r#"{"items":["redacted","b"]}"#.to_owned()));
    for whole in [r#"{"number":4111}"#, "card/number=4111", "", "4111", "\"a\""] {
        assert_eq!(of(whole), RedactedText::Whole, "{whole}");
    }
    // It may have it, and nobody can say where.
    let twice = [r#"{"card":{"number":4111},"card":null}"#, r#"[{"card":{"number":4111,"\u006eumber":1}}]"#];
    for twice in twice {
        assert_eq!(of(twice), RedactedText::Hidden, "{twice}");
    }
    assert_eq!(Redaction::default().redact_text("{"), RedactedText::Whole);
}

#[test]
fn a_text_that_may_contain_json_but_is_invalid_is_hidden() {
    let json = r#"{"card":{"number":4111}}"#;
    let in_string = serde_json::to_string(json).unwrap();
    for hidden in [
        r#"{"card":{"number":41"#.to_owned(),
        " [1".to_owned(),
        format!("\u{feff}{json}"),
        format!("{json}\n{json}"),
        // A sequence (RFC 7464), an event, and JSON that can't be included as a script.
        format!("\u{1e}{json}\n"),
        format!("data: {json}\n\n"),
        format!(")]}}',\n{json}"),
        // UTF-16BE.
        json.chars().flat_map(|character| ['\0', character]).collect(),
        serde_json::to_string(&in_string).unwrap(),
        in_string.replace('{', "\\u007b"),
        in_string,
    ] {
        assert_eq!(redaction().redact_text(&hidden), RedactedText::Hidden, "{hidden}");
    }
}

#[test]
fn other_text_that_contains_a_masked_name_is_hidden() {
    for hidden in [
        "<card><number>4111</number></card>",
        "<c:Number>4111</c:Number>",
        "--x\r\nContent-Disposition: form-data; name=\"items\"\r\n\r\n4111\r\n--x--",
        "card:\n  number: 4111\n",
        "the card number 4111 is invalid",
        "\"number 4111\"",
    ] {
        assert_eq!(redaction().redact_text(hidden), RedactedText::Hidden, "{hidden}");
    }
    for whole in ["<html><h1>502 Bad Gateway</h1></html>", "no such card", "name=number", "number", "a=1&b=0"] {
        assert_eq!(redaction().redact_text(whole), RedactedText::Whole, "{whole}");
    }
    let of_lists = Redaction::new(&["/0".to_owned(), "/".to_owned()]).unwrap();
    assert_eq!(of_lists.redact_text("status 500"), RedactedText::Whole, "no name");
}

#[test]
fn fields_of_a_form_body_are_masked_by_their_names() {
    let fields = ["/card", "/a~1b", "/items/0", "X-Api-Key"].map(str::to_owned);
    let of = |text: &str| Redaction::new(&fields).unwrap().redact_text(text);
    for (text, masked) in [
        ("card=4111", "card=redacted"),
        ("card=4111&name=A%20B+C&card=", "card=redacted&name=A%20B+C&card=redacted"),
        ("name=a&c%61rd=41=11&x", "name=a&c%61rd=redacted&x"),
        ("a%2Fb=1&a/b=2&a~1b=3", "a%2Fb=redacted&a/b=redacted&a~1b=3"),
        // As PHP, Rails and others nest them.
        ("card%5Bnumber%5D=4111&items%5B%5D=1", "card%5Bnumber%5D=redacted&items%5B%5D=redacted"),
        // JSON in a field.
        ("payload=%7B%22card%22%3A4111%7D&n=1", "payload=redacted&n=1"),
        ("payload=%7B%22card%22%3A41", "payload=redacted"),
        // JSON without a field, as of `curl --data-urlencode`.
        ("%7B%22card%22%3A4111%7D", "redacted"),
        ("n=1&%7B%22card%22%3A4111%7D=&%5B%7B%22card%22%3A4111", "n=1&redacted&redacted"),
        ("%22%7B%5C%22card%5C%22%3A4111%7D%22=1", "redacted"),
    ] {
        assert_eq!(of(text), RedactedText::Masked(masked.to_owned()), "{text}");
    }
    for whole in [
        "name=card",
        "cards=1",
        "items=1",
        "card",
        "payload=%7B%22n%22%3A1%7D",
        "%7B%22n%22%3A1%7D",
        "n%5B%5D=1",
        "x=%zz&y=100%",
        "&=&",
        "=",
    ] {
        assert_eq!(of(whole), RedactedText::Whole, "{whole}");
    }
    assert_eq!(of("card[number]=4111"), RedactedText::Hidden, "it contains `[`");
}

#[test]
fn the_answer_in_an_outcome_job_is_masked_as_in_the_outcome() {
    let job = |answer: &str, base64: bool| {
        let outcome = json!({ "result": "delivered", "body": answer, "base64": base64 });
        json!({ "id": "1-0", "bucket": "b", "state": "delivered", "outcome": outcome }).to_string()
    };
    let chained = job(&job(r#"{"card":{"number":4111}}"#, false), false);
    for hidden in [
        job(r#"{"card":{"number":4111}}"#, false),
        job(r#"{"card":{"number":41"#, false),
        job("<number>4111</number>", false),
        job("NDExMQ==", true),
        chained,
    ] {
        let shown = redaction().redact_text(&hidden);
        let rest = r#""state":"delivered""#;
        let is_masked = |text: &str| text.contains(r#""body":"redacted""#) && text.contains(rest);
        assert!(matches!(&shown, RedactedText::Masked(text) if is_masked(text)), "{shown:?}");
    }
    for whole in [job(r#"{"card":{}}"#, false), job("thanks", false)] {
        assert_eq!(redaction().redact_text(&whole), RedactedText::Whole, "{whole}");
    }
    let bytes = job("NDExMQ==", true);
    assert_eq!(Redaction::new(&["X-Api-Key".to_owned()]).unwrap().redact_text(&bytes), RedactedText::Whole);
}

#[test]
fn all_else_stays_as_it_was_sent() {
    let fields = ["/card/number", "/card", "/items/1", "/a~1b/c~0d", "/n/0", "/items/01"].map(str::to_owned);
    let of = |text: &str| Redaction::new(&fields).unwrap().redact_text(text);
    for (text, masked) in [
        (
            "{ \"z\": 12345678901234567890123, \"items\": [1.10, {\"deep\": [1]}],\n\"a\":1e2}",
            "{ \"z\": 12345678901234567890123, \"items\": [1.10, \"redacted\"],\n\"a\":1e2}",
        ),
        (r#"{"card": {"number": 4111}, "n": {"0": "ü"}}"#, r#"{"card": "redacted", "n": {"0": "redacted"}}"#),
        (r#"{"\u0063ard": null,"a\/b": {"c~d": true}}"#, r#"{"\u0063ard": "redacted","a\/b": {"c~d": "redacted"}}"#),
    ] {
        assert_eq!(of(text), RedactedText::Masked(masked.to_owned()), "{text}");
    }
    for whole in [r#"[{"card": 1}, "items", 1.10]"#, r#"{"token":"eA==","order":{"n":[1]}}"#, r#"{"q":"a&card=1"}"#] {
        assert_eq!(of(whole), RedactedText::Whole, "{whole}");
    }
}

#[test]
fn an_exported_letter_is_masked_wherever_it_has_such_a_field() {
    let mut letter = json!({
        "id": "1-0", "body": r#"{"card":{"number":1}}"#, "outcome": {"body": "[cut"},
        "headers": [{"name": "x-api-key", "value": "s"}, {"name": "x", "value": "y"}],
        "failed_attempts": [{"body": r#"{"items":[1]}"#}, {"body": null}],
    });
    redaction().mask_item(&mut letter);
    let expected = json!({
        "id": "1-0", "body": r#"{"card":{"number":"redacted"}}"#, "outcome": {"body": "redacted"},
        "headers": [{"name": "x-api-key", "value": "redacted"}, {"name": "x", "value": "y"}],
        "failed_attempts": [{"body": r#"{"items":["redacted"]}"#}, {"body": null}],
    });
    assert_eq!(letter, expected);
}

#[test]
fn bytes_are_hidden_where_members_are_redacted() {
    let letter = json!({
        "body": null, "body_base64": "/w==", "headers": null,
        "outcome": {"body": "/w==", "base64": true}, "failed_attempts": [{"body": "/w==", "base64": true}],
    });
    let mut masked = letter.clone();
    redaction().mask_item(&mut masked);
    let answer = json!({"body": "redacted", "base64": false});
    let expected = json!({
        "body": "redacted", "body_base64": null, "headers": null, "outcome": answer, "failed_attempts": [answer],
    });
    assert_eq!(masked, expected);
    let mut whole = letter.clone();
    Redaction::new(&["X-Api-Key".to_owned()]).unwrap().mask_item(&mut whole);
    assert_eq!(whole, letter, "no member is redacted");
}

#[test]
fn a_field_is_a_pointer_or_the_name_of_a_header() {
    for (field, is_one) in [("/", true), ("/a~1b", true), ("authorization", true), ("a b", false), ("", false)] {
        assert_eq!(Redaction::new(&[field.to_owned()]).is_some(), is_one, "{field}");
    }
}
