//! Checks that one setting doesn't exceed another.

use std::time::Duration;

use dripfeed_job::duration;

use crate::settings::read::{Reader, SectionPath};
use crate::settings::tree::Step;

/// Reports an error if the first duration exceeds the second. The error names the one that is set, if possible in the
/// section of this bucket.
pub(super) fn check_order(
    reader: &mut Reader<'_>,
    place: &SectionPath<'_>,
    section: &str,
    [(less, less_time), (most, most_time)]: [(&str, Duration); 2],
) {
    if less_time <= most_time {
        return;
    }
    let [less_key, most_key] = [less, most].map(|key| [Step::from(section), key.into()]);
    let is_own = |key: &[Step]| reader.tree.has(&[place.path, key].concat());
    let is_set = |key: &[Step]| reader.tree.is_set(&place.of(reader.tree, key));
    let is_less = is_own(&less_key) || !is_own(&most_key) && is_set(&less_key);
    let (less_shown, most_shown) = (duration::show(less_time), duration::show(most_time));
    let (key, message) = match is_less {
        true => (less_key, format!("{less_shown} exceeds {section}.{most}, {most_shown}")),
        false => (most_key, format!("{most_shown} is less than {section}.{less}, {less_shown}")),
    };
    reader.error(&place.of(reader.tree, &key), message);
}
