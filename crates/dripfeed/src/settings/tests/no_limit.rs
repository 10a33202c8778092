//! What stands for no limit.

use super::reported;

#[test]
fn the_word_for_no_limit_at_run_time_is_answered_with_that_of_a_file() {
    let settings = [
        ("leak.rate", "\"\""),
        ("fair.rate", "\"\""),
        ("max_share", "\"\""),
        ("leak.max_in_flight", "0"),
        ("fair.max_in_flight", "0"),
    ];
    for (setting, none) in settings {
        let file = |value: &str| format!("[buckets.mail]\nupstream = \"http://127.0.0.1:1/\"\n{setting} = {value}\n");
        let refused = reported(&file("\"none\""));
        let why = format!("leave it out for no limit, or use {none}");
        assert!(
            refused.contains(&format!("buckets.mail.{setting}: `none` is for changes at run time: {why}")),
            "{refused}"
        );
        assert_eq!(reported(&file(none)), "taken", "{setting}");
    }
}
