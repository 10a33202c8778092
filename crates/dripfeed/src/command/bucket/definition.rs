//! The definition of a bucket: a file with the keys of its section, overridden by arguments.

use std::path::{Path, PathBuf};

use clap::Args;
use config::{FileFormat, Format as _};
use dripfeed_limit::load;
use serde_json::{Map, Value as Json, json};

/// The server validates the definition.
#[derive(Args, Debug)]
pub(super) struct DefinitionArgs {
    /// File with the definition: the keys of a section [buckets.NAME], as TOML, YAML or JSON; the options below
    /// override it
    #[arg(long, value_name = "FILE", required_unless_present = "upstream")]
    file: Option<PathBuf>,
    /// URL of the upstream
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Rate limit of the calls, such as 10/s
    #[arg(long)]
    rate: Option<String>,
    /// Maximum jobs in the bucket
    #[arg(long, value_name = "NUMBER")]
    capacity: Option<u64>,
    /// Maximum bytes of these jobs, such as 64MiB
    #[arg(long, value_name = "SIZE")]
    capacity_bytes: Option<String>,
}

impl DefinitionArgs {
    pub(super) fn read(&self) -> Result<Json, String> {
        let mut definition = self.file.as_deref().map(read_file).transpose()?.unwrap_or_default();
        let arguments = [
            ("upstream", self.upstream.as_ref().map(|text| json!(text))),
            ("capacity", self.capacity.map(|number| json!(number))),
            ("capacity_bytes", self.capacity_bytes.as_ref().map(|text| json!(text))),
        ];
        definition.extend(arguments.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        if let Some(rate) = &self.rate {
            let leak = definition.entry("leak").or_insert_with(|| json!({}));
            leak.as_object_mut().ok_or("`leak` isn't a table in the file")?.insert("rate".to_owned(), json!(rate));
        }
        Ok(Json::Object(definition))
    }
}

fn read_file(path: &Path) -> Result<Map<String, Json>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("can't read {shown}: {error}"))?;
    let document = match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => {
            let parsed =
                FileFormat::Toml.parse(None, &text).map(config::Value::from).map_err(|error| error.to_string());
            parsed.and_then(|value| value.try_deserialize::<Json>().map_err(|error| error.to_string()))
        }
        // JSON is a subset of YAML.
        _ => load::parse_yaml(&text).map_err(|error| error.to_string()),
    };
    match document.map_err(|error| format!("{shown}: {error}"))? {
        Json::Object(definition) => Ok(definition),
        _ => Err(format!("{shown} is empty: write the keys of a section [buckets.NAME]")),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_definition_is_a_file_and_arguments_over_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let expected =
            json!({ "upstream": "https://b.example/", "capacity": 7, "leak": { "burst": 2, "rate": "5/s" } });
        for (name, text) in [
            ("a.toml", "upstream = \"https://a.example/\"\ncapacity = 7\n[leak]\nburst = 2\n"),
            ("a.yaml", "upstream: https://a.example/\ncapacity: 7\nleak: { burst: 2 }\n"),
            ("a.json", r#"{ "upstream": "https://a.example/", "capacity": 7, "leak": { "burst": 2 } }"#),
        ] {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            let arguments = DefinitionArgs {
                file: Some(file),
                upstream: Some("https://b.example/".to_owned()),
                rate: Some("5/s".to_owned()),
                capacity: None,
                capacity_bytes: None,
            };
            assert_eq!(arguments.read(), Ok(expected.clone()), "{name}");
        }
    }
}
