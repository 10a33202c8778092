//! Suggests a known name for a misspelled one.

/// The minimum similarity of a suggestion; 1 means equal.
const MIN_SIMILARITY: f64 = 0.6;

/// Returns the end of an error about an unknown name, ` (did you mean capacity?)`, or nothing if no known name is
/// similar.
pub(crate) fn suggestion<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let scored = known.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    let similar = scored.filter(|(similarity, _)| *similarity > MIN_SIMILARITY);
    let nearest = similar.max_by(|(one, _), (other, _)| one.total_cmp(other));
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
