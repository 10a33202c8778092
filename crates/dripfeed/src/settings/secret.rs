//! Reads secrets from files.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use secrecy::SecretString;

/// Reads a file that only its owner and its group may access. Containers often access secrets through the group.
///
/// # Errors
/// A sentence that says what is wrong with the file.
pub(crate) fn read_secret(path: &Path) -> Result<SecretString, String> {
    read(path, |mode| {
        if mode & 0o007 == 0 {
            return Ok(());
        }
        Err(format!(
            "{} contains a secret and is accessible by everyone (mode {:04o}): chmod o= {0}",
            path.display(),
            mode & 0o7777
        ))
    })
    .map(SecretString::from)
}

/// Reads a file that everyone may access.
///
/// # Errors
/// A sentence that says what is wrong with the file.
pub(super) fn read_public(path: &Path) -> Result<String, String> {
    read(path, |_| Ok(()))
}

fn read(path: &Path, permit: impl FnOnce(u32) -> Result<(), String>) -> Result<String, String> {
    let unreadable = |error| format!("can't read {}: {error}", path.display());
    let mut file = fs::File::open(path).map_err(unreadable)?;
    // Checks the open file, because another one may replace it under its name.
    permit(file.metadata().map_err(unreadable)?.permissions().mode())?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() { Err(format!("{} is empty", path.display())) } else { Ok(text.to_owned()) }
}
