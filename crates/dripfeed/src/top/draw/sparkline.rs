//! Numbers over time, as a line of block characters.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The full height stands for the highest number, or for `ceiling` if that is higher.
pub(super) fn text(numbers: &[f64], ceiling: f64) -> String {
    let highest = numbers.iter().copied().fold(ceiling, f64::max);
    numbers.iter().map(|number| block(*number, highest)).collect()
}

/// Any number above 0 has at least the lowest block.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn block(number: f64, highest: f64) -> char {
    if number <= 0.0 || highest <= 0.0 {
        return ' ';
    }
    let last = BLOCKS.len() - 1;
    let height = (number / highest * 8.0).ceil() as usize;
    BLOCKS[height.saturating_sub(1).min(last)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_is_full_and_nothing_is_empty() {
        assert_eq!(text(&[0.0, 1.0, 4.0, 8.0], 0.0), " ▁▄█");
        assert_eq!(text(&[0.0, 1.0], 8.0), " ▁");
        assert_eq!(text(&[0.0, 0.001], 1000.0), " ▁");
        assert_eq!(text(&[], 0.0), "");
    }
}
