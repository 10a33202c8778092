use super::*;

#[test]
fn plain_names_are_names() {
    for text in ["tigerfeeding", "a", "9", "mail.eu-west_1", "SMS"] {
        assert_eq!(text.parse::<BucketName>().map(|name| name.to_string()).as_deref(), Ok(text));
    }
}

#[test]
fn a_name_that_could_reach_another_key_is_invalid() {
    let long = "x".repeat(LONGEST + 1);
    for text in ["", ".", "..", "-a", "a/b", "a b", "a{b}", "a*", "а", "a\n", "a:b", long.as_str()] {
        assert!(text.parse::<BucketName>().is_err(), "{text:?}");
    }
}

#[test]
fn an_id_reads_back_as_it_was_written() {
    for text in ["0-0", "1700000000000-0", "1700000000000-17", "18446744073709551615-18446744073709551615"] {
        assert_eq!(text.parse::<JobId>().map(|id| id.to_string()).as_deref(), Ok(text));
    }
}

#[test]
fn a_non_canonical_job_id_is_invalid() {
    for text in ["", "-", "1", "1-", "-1", "01-0", "+1-0", "1-0-0", "1-x", "18446744073709551616-0", " 1-0"] {
        assert!(text.parse::<JobId>().is_err(), "{text:?}");
    }
}

#[test]
fn ids_sort_by_number_and_not_by_text() {
    assert!(JobId::new(9, 0) < JobId::new(10, 0));
    assert!(JobId::new(9, 9) < JobId::new(9, 10));
    assert_eq!(JobId::new(9, 0).previous(), Some(JobId::new(8, u64::MAX)));
    assert_eq!(JobId::new(0, 0).previous(), None);
}
