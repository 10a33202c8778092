//! `dripfeed config`

use clap::Args;
use serde_json::json;

use crate::exit::Failure;
use crate::output::{self, Column, Format, shown};
use crate::settings::{Layers, Settings};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    output: Format,
}

const COLUMNS: [Column; 3] = [
    ("KEY", |setting| shown(setting, "/key")),
    ("VALUE", |setting| setting["value"].to_string()),
    ("FROM", |setting| shown(setting, "/origin")),
];

pub(super) fn run(Arguments { output }: &Arguments, layers: &Layers) -> Result<(), Failure> {
    let settings: Vec<_> = Settings::rendered(layers)?.iter().map(|setting| json!(setting)).collect();
    match output {
        Format::Table => output::rows(&COLUMNS, &settings)?,
        Format::Json => output::json(&settings)?,
    }
    Ok(())
}
