#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod buckets;
mod definitions;
mod errors;
mod keys;
mod layers;
mod no_limit;
mod secrets;
mod tables;
mod typed;
mod wrong_types;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use dripfeed_bucket::BucketSettings;
use dripfeed_store::Durability;
use tempfile::TempDir;

use super::{Layers, Settings};

/// A folder of configuration files; errors name them without it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn secret(&self, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = self.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn reported(&self, layers: &Layers) -> String {
        let dir = format!("{}/", self.0.path().display());
        match Settings::load(layers) {
            Ok(_) => "taken".to_owned(),
            Err(errors) => errors.to_string().replace(&dir, ""),
        }
    }
}

fn layers(files: impl IntoIterator<Item = PathBuf>) -> Layers {
    Layers { files: files.into_iter().collect(), environment: Some(HashMap::new()), ..Layers::default() }
}

/// What a file of that content is answered.
fn reported(toml: &str) -> String {
    let folder = Folder::new();
    let file = folder.file("dripfeed.toml", toml);
    folder.reported(&layers([file]))
}

fn bucket(settings: &Settings, name: &str) -> BucketSettings {
    settings.buckets.get(name).unwrap().settings(Durability::Everysec)
}

fn load(layers: &Layers) -> Settings {
    Settings::load(layers).unwrap_or_else(|errors| unreachable!("{errors}"))
}

fn tls(certificate: &Path, key: &Path) -> Layers {
    let set = |name: &str, path: &Path| format!("intake.tls_{name}={}", path.display());
    Layers { arguments: vec![set("cert", certificate), set("key", key)], ..layers([]) }
}
