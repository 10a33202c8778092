//! The page as a browser without scripts sees it, over a real intake: sessions, forms, and text that others wrote.

mod audit;
mod dead;
mod escaping;
mod export;
mod forms;
mod history;
mod inspect;
mod links;
mod many;
mod outage;
mod reader;
mod redaction;
mod routes;
mod sessions;
mod settings;
mod slow_log;
