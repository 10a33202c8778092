//! The settings that `dripfeed dev` writes where it is given none: buckets to try, and where its Redis is.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::exit::Failure;

const BUCKETS: &str = include_str!("../../dev.toml");
/// Where those buckets have their upstream.
const ECHO_IN_BUCKETS: &str = "127.0.0.1:7182";

pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    buckets: String,
}

impl SettingsFile {
    /// With the buckets, in the directory `data`.
    pub(super) fn write(data: &Path, echo: SocketAddr) -> Result<Self, Failure> {
        let file = Self { path: data.join("dev.toml"), buckets: BUCKETS.replace(ECHO_IN_BUCKETS, &echo.to_string()) };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(data);
        made.and_then(|()| fs::write(&file.path, &file.buckets)).map_err(|error| file.unwritable(&error))?;
        Ok(file)
    }

    /// Other commands find Redis by this file, as `dripfeed -c FILE doctor` does.
    pub(super) fn name_redis(&self, url: &str) -> Result<(), Failure> {
        let url = serde_json::Value::from(url);
        let text = format!("{}\n# Runs as long as `dripfeed dev`.\n[redis]\nurl = {url}\n", self.buckets);
        fs::write(&self.path, text).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        anyhow::anyhow!("can't write {}: {error}", self.path.display()).into()
    }
}
