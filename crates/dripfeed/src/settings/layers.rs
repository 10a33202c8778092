//! The layers of settings, lowest first: compiled-in defaults, files, environment, arguments.

pub(super) mod misnamed;
mod out_of_range;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use config::{Environment, FileFormat, Format as _, Map, Source, Value, ValueKind};
use dripfeed_job::unique_members::UniqueMembers;
use dripfeed_limit::load;

pub(crate) use self::misnamed::Misnamed;

use super::config_error::{ConfigError, ConfigErrors};
use super::tree::{self, ARGUMENT, DEFAULT, ENVIRONMENT_PREFIX, Tree};

const DEFAULTS: &str = include_str!("../../default.toml");

/// The sources of settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    pub(crate) files: Vec<PathBuf>,
    /// `None` for the environment of this process.
    pub(crate) environment: Option<HashMap<String, String>>,
    /// `section.key=value` each.
    pub(crate) arguments: Vec<String>,
    /// Whether anyone who reaches the intake may do everything, even beyond loopback.
    pub(crate) insecure_no_auth: bool,
}

impl Layers {
    /// Merges all layers. Returns `None` if a whole layer can't be read, because its settings would be reported as
    /// missing. An unreadable argument or variable is only one setting, so the others are still checked.
    pub(super) fn gather(&self, errors: &mut ConfigErrors) -> Option<Tree> {
        let defaults = Layer::read(DEFAULT, FileFormat::Toml, &without_comments(DEFAULTS));
        let files = self.files.iter().map(|path| file(path));
        let (variables, unreadable) =
            self.environment.clone().map_or_else(process_environment, |variables| (variables, Vec::new()));
        let layers = std::iter::once(defaults.map_err(|error| vec![error])).chain(files);
        let mut report = |found: Vec<ConfigError>| found.into_iter().for_each(|error| errors.push(error));
        let layers = layers.chain([environment(variables)]).map(|layer| layer.map_err(&mut report).ok());
        // Collected first, so that each layer reports its errors.
        let layers: Vec<Option<Layer>> = layers.collect();
        report(unreadable);
        let arguments =
            self.arguments.iter().filter_map(|text| argument(text).map_err(|error| report(vec![error])).ok());
        let arguments: Vec<Layer> = arguments.collect();
        let mut layers = layers.into_iter().collect::<Option<Vec<Layer>>>()?.into_iter().chain(arguments);
        let Layer(defaults) = layers.next().unwrap_or_default();
        let mut merged = Value::from(defaults.clone());
        let mut empty_tables = BTreeMap::new();
        for layer in layers {
            tree::empty_tables(&layer.0, &[], &mut empty_tables);
            // Can't fail, because the values of a layer are in memory.
            let _ = layer.collect_to(&mut merged);
        }
        Some(Tree { merged, defaults: defaults.into(), empty_tables })
    }

    /// Returns the environment variables that set nothing, although their names resemble that of a setting.
    pub(super) fn misnamed_variables(&self, defaults: &Value) -> Vec<Misnamed> {
        let process_names = || std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
        let environment = self.environment.as_ref();
        let names = environment.map_or_else(process_names, |variables| variables.keys().cloned().collect());
        misnamed::among(names, defaults)
    }
}

fn environment(variables: HashMap<String, String>) -> Result<Layer, Vec<ConfigError>> {
    Environment::with_prefix(ENVIRONMENT_PREFIX)
        .prefix_separator("__")
        .separator("__")
        .source(Some(variables))
        .collect()
        .map(|values| Layer(values.into_iter().map(|(key, value)| (key, parse_table(value))).collect()))
        .map_err(|error| vec![ConfigError { origin: None, key: None, message: error.to_string() }])
}

/// The variables of this process that are settings, and errors for those that aren't UTF-8. The errors don't show
/// values, which may be secrets.
fn process_environment() -> (HashMap<String, String>, Vec<ConfigError>) {
    let prefix = format!("{ENVIRONMENT_PREFIX}__");
    let is_setting = |name: &OsString| name.to_string_lossy().to_uppercase().starts_with(&prefix);
    let (mut read, mut errors) = (HashMap::new(), Vec::new());
    for (name, value) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
        let shown = name.to_string_lossy().escape_debug().to_string();
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => {
                read.insert(name, value);
            }
            (name, _) => {
                let message = format!("its {} isn't UTF-8: set it again", if name.is_ok() { "value" } else { "name" });
                errors.push(ConfigError { origin: Some(shown), key: None, message });
            }
        }
    }
    (read, errors)
}

/// Removes comment lines, which are two thirds of the defaults, to make parsing them faster at each start. No value
/// there has several lines.
fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect()
}

/// The values of one source, each with its origin.
#[derive(Clone, Debug, Default)]
struct Layer(Map<String, Value>);

impl Layer {
    fn read(origin: &str, format: FileFormat, text: &str) -> Result<Self, ConfigError> {
        let parsed = format.parse(Some(&origin.to_owned()), text);
        parsed.map(Self).map_err(|error| unreadable(origin, &error.to_string()))
    }

    fn read_toml(origin: &str, text: &str) -> Result<Self, Vec<ConfigError>> {
        Self::read(origin, FileFormat::Toml, text).map_err(|error| {
            let numbers = out_of_range::numbers(origin, text);
            if numbers.is_empty() { vec![error] } else { numbers }
        })
    }

    /// Refuses duplicate members, of which the parser would take the last.
    fn read_json(origin: &str, text: &str) -> Result<Self, Vec<ConfigError>> {
        let unique = serde_json::from_str::<UniqueMembers>(text);
        unique.map_err(|error| vec![unreadable(origin, &error.to_string())])?;
        Self::read(origin, FileFormat::Json, text).map_err(|error| vec![error])
    }

    /// Uses the YAML parser of limits, so that the program has only one.
    fn read_yaml(origin: &str, text: &str) -> Result<Self, Vec<ConfigError>> {
        let document = load::parse_yaml(text).map_err(|error| vec![unreadable(origin, &error.to_string())])?;
        // Only comments: no settings, as in TOML.
        if document.is_null() {
            return Ok(Self::default());
        }
        Self::read(origin, FileFormat::Json, &document.to_string()).map_err(|error| vec![error])
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        Ok(self.0.clone())
    }
}

fn file(path: &Path) -> Result<Layer, Vec<ConfigError>> {
    let origin = path.display().to_string();
    let wrong = |message| vec![ConfigError { origin: Some(origin.clone()), key: None, message }];
    let read = match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Layer::read_toml,
        Some("json") => Layer::read_json,
        Some("yaml" | "yml") => Layer::read_yaml,
        _ => return Err(wrong("unknown format: use a file name with .toml, .yaml or .json".to_owned())),
    };
    let bytes = fs::read(path).map_err(|error| wrong(format!("can't be opened: {error}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| wrong(format!("invalid UTF-8 after byte {}", error.utf8_error().valid_up_to())))?;
    // Some editors begin files with a byte order mark, which JSON doesn't allow.
    read(&origin, text.strip_prefix('\u{feff}').unwrap_or(&text))
}

fn argument(text: &str) -> Result<Layer, ConfigError> {
    // Any other name would become a section.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    let Some((key, value)) = text.split_once('=') else {
        // Shows only the name, because the rest may be a secret.
        let begin: String = text.chars().take_while(|c| is_plain(*c)).collect();
        let message = format!("`{begin}` has no `=`: use section.key=value");
        return Err(ConfigError { origin: Some(ARGUMENT.to_owned()), key: None, message });
    };
    let key = key.trim();
    if !key.chars().all(is_plain) {
        let key = key.escape_debug();
        let message = format!("`{key}` can't be a setting: use section.key, each name of A-Z a-z 0-9 _ -");
        return Err(ConfigError { origin: Some(ARGUMENT.to_owned()), key: None, message });
    }
    let value = Value::new(Some(&ARGUMENT.to_owned()), value.to_owned());
    Ok(Layer(Map::from([(key.to_owned(), parse_table(value))])))
}

/// Parses a table that is written as text, as in the environment, so that it is merged with those of lower layers key
/// by key. A text that isn't a table stays a text, and is reported as an invalid value of its setting.
fn parse_table(value: Value) -> Value {
    const NAME: &str = "table";
    let ValueKind::String(text) = &value.kind else { return value };
    if !text.trim_start().starts_with('{') {
        return value;
    }
    let origin = value.origin().map(str::to_owned);
    let read = FileFormat::Toml.parse(origin.as_ref(), &format!("{NAME} = {text}"));
    read.ok().and_then(|mut tables| tables.remove(NAME)).unwrap_or(value)
}

fn unreadable(origin: &str, error: &str) -> ConfigError {
    let message = format!("can't be read: {}", without_source(error));
    ConfigError { origin: Some(origin.to_owned()), key: None, message }
}

/// Returns a parser's message on one line, without the lines of the file that it shows, as they may contain secrets.
fn without_source(message: &str) -> String {
    let shows_source =
        |line: &&str| line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|');
    let reported: Vec<&str> = message.lines().filter(|line| !shows_source(line)).map(str::trim).collect();
    reported.join(": ")
}
