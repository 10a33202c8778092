//! One bucket in both kinds, over a private Redis.

mod history;
mod journey;
mod list_kind;
mod max_share;
mod model_check;
mod overrides;
mod pace;
mod pagination;
mod run_time_settings;
mod take;
