//! `--window`: the time window, with the API's names.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Window {
    #[value(name = "5m")]
    FiveMinutes,
    #[value(name = "1h")]
    Hour,
    #[value(name = "24h")]
    Day,
}

impl Window {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::Hour => "1h",
            Self::Day => "24h",
        }
    }
}
