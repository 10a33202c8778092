//! Replaces values of a form body (`application/x-www-form-urlencoded`) in place.

use percent_encoding::percent_decode_str;

/// `is_masked` gets the decoded name and value of each field. Returns `None` if no value is masked.
pub(super) fn masked_form(text: &str, is_masked: impl Fn(&str, &str) -> bool, mask: &str) -> Option<String> {
    let mut is_any_masked = false;
    let mut masked = |field: &str| {
        let Some((name, value)) = field.split_once('=') else { return field.to_owned() };
        if !is_masked(&decoded(name), &decoded(value)) {
            return field.to_owned();
        }
        is_any_masked = true;
        format!("{name}={mask}")
    };
    let fields: Vec<String> = text.split('&').map(&mut masked).collect();
    is_any_masked.then(|| fields.join("&"))
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
