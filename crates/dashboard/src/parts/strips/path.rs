//! Values over time as an SVG path: one step per slot.

pub(super) const WIDTH: usize = 600;
pub(super) const HEIGHT: usize = 64;
/// Keeps the highest line inside the image.
const MARGIN: f64 = 1.0;

/// A line with gaps for missing values. `top` is the value at the upper edge.
pub(super) fn steps(values: &[Option<f64>], top: f64) -> String {
    let (mut path, mut before) = (String::new(), None);
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value else {
            before = None;
            continue;
        };
        let y = y(*value, top);
        match &before {
            None => path.push_str(&format!("M{} {y}", x(at, values.len()))),
            Some(before) if *before == y => {}
            Some(_) => path.push_str(&format!("V{y}")),
        }
        path.push_str(&format!("H{}", x(at + 1, values.len())));
        before = Some(y);
    }
    path
}

/// The area between a line and the lower edge. The line must have no gaps, but may begin late.
pub(super) fn closed(line: &str) -> String {
    let begin = line.strip_prefix('M').and_then(|rest| rest.split(' ').next());
    begin.map_or_else(String::new, |begin| format!("{line}V{HEIGHT}H{begin}Z"))
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn x(at: usize, slots: usize) -> String {
    short(WIDTH as f64 * at as f64 / slots.max(1) as f64)
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn y(value: f64, top: f64) -> String {
    let part = if top > 0.0 { (value / top).clamp(0.0, 1.0) } else { 0.0 };
    short(HEIGHT as f64 - MARGIN - part * (HEIGHT as f64 - 2.0 * MARGIN))
}

/// One decimal, unless it is 0.
fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_step_for_each_slot_and_breaks_where_nothing_was_measured() {
        assert_eq!(steps(&[Some(0.0), Some(2.0)], 2.0), "M0 63H300V1H600");
        assert_eq!(steps(&[Some(1.0), None, Some(1.0), Some(1.0)], 2.0), "M0 32H150M300 32H450H600");
        assert_eq!(steps(&[None], 2.0), "");
        assert_eq!(steps(&[Some(5.0)], 0.0), "M0 63H600");
        assert_eq!((closed(""), closed("M10 63H600")), (String::new(), "M10 63H600V64H10Z".to_owned()));
    }
}
