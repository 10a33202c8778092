use super::{Names, check, printed};

/// A bucket has all settings of `defaults`.
#[tokio::test]
async fn settings_keep_their_names_and_defaults() {
    let printed = printed(&["config"]).await;
    let settings = printed.lines().skip(1).filter_map(|line| line.trim().strip_suffix("default"));
    let names: Names = settings.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    check("settings", &names);
}
