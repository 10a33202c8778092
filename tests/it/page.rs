//! The page as a browser without scripts sees it, over a real intake: sessions, forms, and text that others wrote.

mod escaping;
mod forms;
mod links;
mod reader;
mod sessions;
