//! Valid ids of keys.

/// Invalid, because clients resolve them in paths.
const DOTS: [&str; 2] = [".", ".."];

/// Validates the id of a key.
///
/// # Errors
/// For an invalid id.
pub fn check_key_id(id: &str) -> Result<(), String> {
    if !id.is_empty() && id.len() <= 64 && id.chars().all(|c| c.is_ascii_graphic()) && !DOTS.contains(&id) {
        return Ok(());
    }
    let shown: String = id.chars().take(64).collect();
    Err(format!(
        "`{}` is not a valid caller name: use 1 to 64 visible ASCII characters, not `.` or `..`",
        shown.escape_debug()
    ))
}
