//! The checksum by which a job that was changed in Redis is known. It finds corruption, not intent: anyone who may
//! write to Redis can write another checksum too.

use xxhash_rust::xxh3::Xxh3Default;

/// 16 hexadecimal digits over the parts, each led by its length: XXH3, about 100 ns for a job of 2 KiB.
pub(crate) fn of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Xxh3Default::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    format!("{:016x}", hash.digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_parts(parts: &[&str]) -> String {
        of(parts.iter().map(|part| part.as_bytes()))
    }

    #[test]
    fn every_byte_counts_and_so_does_where_it_stands() {
        assert_eq!(of_parts(&["a", "b"]), of_parts(&["a", "b"]));
        assert_eq!(of_parts(&[]).len(), 16);
        for other in [["a", "c"], ["ab", ""], ["", "ab"], ["b", "a"]] {
            assert_ne!(of_parts(&["a", "b"]), of_parts(&other), "{other:?}");
        }
    }

    /// A job that an older release wrote must not look corrupt to a newer one.
    #[test]
    fn the_checksum_stays_what_it_is() {
        assert_eq!(of_parts(&["body", "text/plain", ""]), "5671acfa4d21bfad");
    }
}
