//! One bucket in both kinds, over a private Redis.

mod cancel_many;
mod deleted_by_hand;
mod expiry;
mod failed_attempts;
mod free_share;
mod full;
mod history;
mod idle;
mod largest_id;
mod lifecycle;
mod list_kind;
mod max_share;
mod model_check;
mod notices;
mod overrides;
mod pace;
mod pagination;
mod redis_fails;
mod replays;
mod replicas;
mod run_time_settings;
mod slots;
mod standby;
mod take;
mod turns_model;
mod wrong_types;
