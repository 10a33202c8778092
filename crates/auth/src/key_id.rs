//! Valid ids of keys.

/// Whether a key may have this id; if not, why.
///
/// # Errors
/// When it may not.
pub fn check_key_id(id: &str) -> Result<(), String> {
    if !id.is_empty() && id.len() <= 64 && id.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(());
    }
    let shown: String = id.chars().take(64).collect();
    Err(format!("`{}` is not a valid caller name: use 1 to 64 visible ASCII characters", shown.escape_debug()))
}
