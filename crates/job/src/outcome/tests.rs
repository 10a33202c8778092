#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use super::*;

#[test]
fn answers_keep_their_bytes() {
    for bytes in [b"plain".as_slice(), b"", b"\xff\x00\xfe", "täglich".as_bytes()] {
        assert_eq!(AnswerBody::new(None, bytes, false).bytes(), bytes);
    }
}

#[test]
fn a_cut_in_the_middle_of_a_character_stays_text() {
    let cut = AnswerBody::new(None, &"tä".as_bytes()[..2], true);
    assert_eq!((cut.body.as_str(), cut.base64), ("t", false));
}

#[test]
fn a_content_type_is_bounded_and_stays_one() {
    let kept = |content_type: &str| AnswerBody::new(Some(content_type.to_owned()), b"", false).content_type.unwrap();
    let longest = format!("text/plain; a={}", "b".repeat(100 - 14));
    assert_eq!(kept(&longest), longest);
    assert_eq!(kept(&format!("{longest}b")), "text/plain");
    assert_eq!(kept(&"t".repeat(5000)), "t".repeat(100));
    assert_eq!(kept(&format!("{};a=b", "t".repeat(100))), "t".repeat(100));
    assert!(kept(&format!("text/plain; a=\"{}", "\\".repeat(60))).len() <= 100);
}

#[test]
fn a_record_is_small_and_reads_back() {
    let outcome =
        Outcome { result: Ending::Delivered, reason: None, status: Some(204), attempts: 1, caller: None, answer: None };
    let of = |caller: &str| Outcome { caller: Some(caller.to_owned()), ..outcome.clone() };
    let why = Outcome { reason: Some("no luck".to_owned()), ..outcome.clone() };
    for (outcome, record) in [
        (outcome.clone(), "delivered 204 1"),
        (of("acme"), "delivered 204 1 acme"),
        (of("a b"), r#"{"result":"delivered","status":204,"attempts":1,"caller":"a b"}"#),
        (why, r#"{"result":"delivered","reason":"no luck","status":204,"attempts":1}"#),
        (Outcome { status: None, ..outcome }, r#"{"result":"delivered","attempts":1}"#),
    ] {
        assert_eq!(outcome.to_record(), record);
        assert_eq!(Outcome::from_record(record), Some(outcome));
    }
}

#[test]
fn a_record_of_an_earlier_release_is_read() {
    let record = r#"{"result":"delivered","status":204,"attempts":2,"caller":"acme"}"#;
    let outcome = Outcome::from_record(record).unwrap();
    assert_eq!((outcome.status, outcome.attempts, outcome.caller.as_deref()), (Some(204), 2, Some("acme")));
    assert_eq!(Outcome::from_record("no record"), None);
}
