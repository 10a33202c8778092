//! Files of settings of the base are read.

use std::fs;

use super::versions::Version::This;
use super::versions::{executable, sources};

#[tokio::test]
async fn settings_of_the_base_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    fs::write(&secret, "0".repeat(64)).expect("a file");
    let files = [
        "config/default.toml",
        "config/deploy/containers.toml",
        "config/examples/dev.toml",
        "config/examples/partner-api.toml",
        "config/examples/webhooks.yaml",
    ];
    for file in files {
        let text = fs::read_to_string(sources().join(file)).expect("a file of the base");
        let text = text.replace("/run/secrets/caller_key_hash", secret.to_str().expect("a path"));
        let copy = folder.path().join(file.rsplit('/').next().expect("a name"));
        fs::write(&copy, text).expect("a file");
        let checked = executable(This).arg("-c").arg(copy).arg("check").output().await.expect("the executable");
        assert!(checked.status.success(), "{file}: {checked:?}");
    }
}
