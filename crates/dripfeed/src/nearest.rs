//! What somebody may have meant who wrote a name that isn't known.

/// From this likeness on, 1 being the same, it is more probably a slip than another name.
const ALIKE: f64 = 0.6;

/// An unknown name, as errors go on: ` (did you mean capacity?)`, or nothing where no known name is like it.
pub(crate) fn suggestion<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let alike = known.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    let nearest = alike.filter(|(likeness, _)| *likeness > ALIKE).max_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest.map(|(_, known)| format!(" (did you mean {known}?)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_name() {
        let known = ["url", "url_file", "prefix", "durability", "capacity", "capacity_bytes"];
        for (name, meant) in [
            ("durabilitty", " (did you mean durability?)"),
            ("capacit", " (did you mean capacity?)"),
            ("capacity-bytes", " (did you mean capacity_bytes?)"),
            ("ulr", " (did you mean url?)"),
            ("colour", ""),
            ("", ""),
        ] {
            assert_eq!(suggestion(name, known), meant, "{name}");
        }
    }
}
