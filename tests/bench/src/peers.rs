//! Paths and versions of the peers, which `make bench-peers` installs beside the executables' folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

/// The script of a role.
pub(crate) fn script(role: &str) -> anyhow::Result<PathBuf> {
    let path = folder()?.join(format!("{role}.js"));
    anyhow::ensure!(path.is_file(), "{} is missing: run `make bench-peers`", path.display());
    Ok(path)
}

/// The versions as text, for a report.
pub(crate) fn versions() -> anyhow::Result<String> {
    let manifest = fs::read(folder()?.join("package.json")).context("what npm has installed")?;
    let manifest: Value = serde_json::from_slice(&manifest)?;
    let packages = manifest["dependencies"].as_object().context("package.json has no dependencies")?;
    let packages = packages.iter().map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or_default()));
    let programs = [printed("node", "--version"), printed(nginx()?, "-v")];
    Ok(packages.chain(programs).collect::<Vec<_>>().join(", "))
}

/// Debian's nginx, unpacked but not installed.
pub(crate) fn nginx() -> anyhow::Result<PathBuf> {
    Ok(folder()?.join("nginx/usr/sbin/nginx"))
}

fn folder() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("the path of this program")?;
    let target = program.parent().and_then(|profile| profile.parent()).context("the folder of this program")?;
    Ok(target.join("bench-peers"))
}

/// The version that a program prints, on standard output, or nginx on standard error.
fn printed(program: impl AsRef<Path>, argument: &str) -> String {
    let program = program.as_ref();
    let name = program.file_name().unwrap_or_default().display();
    let Ok(output) = Command::new(program).arg(argument).output() else { return format!("no {name}") };
    let text = [output.stdout, output.stderr].concat();
    let version = String::from_utf8_lossy(&text).split([' ', '/']).next_back().unwrap_or_default().trim().to_owned();
    format!("{name} {version}")
}
