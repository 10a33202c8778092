use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};

use serde_json::json;

use crate::program::dripfeed;
use crate::terminal::Terminal;

/// An intake whose list of outcomes has two pages. The second one comes once the test allows it.
fn two_pages() -> (String, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (allow, allowed) = channel();
    std::thread::spawn(move || {
        let at = |second: u8| format!("2026-01-01T00:00:{second:02}Z");
        let ended = |id: &str, second: u8| json!({ "id": id, "outcome": { "settled_at": at(second) } });
        let first = json!({ "items": [ended("1-0", 0), ended("2-0", 10)], "next": "c" });
        for page in [first, json!({ "items": [ended("3-0", 20)], "next": null })] {
            let (mut call, _) = listener.accept().unwrap();
            let _ = call.read(&mut [0; 4096]);
            if page["next"].is_null() {
                let _ = allowed.recv();
            }
            let (page, head) = (page.to_string(), "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length:");
            let _ = write!(call, "{head} {}\r\n\r\n{page}", page.len());
        }
    });
    (url, allow)
}

#[test]
fn a_bar_shows_how_much_is_written_though_the_number_is_not_known() {
    let (server, allow) = two_pages();
    let export = dripfeed(&["outcomes", "mail", "export", "--until", "2026-01-01T00:00:20Z", "--server", &server]);
    let mut redirected = Command::new("sh");
    redirected.args(["-c", "exec \"$@\" >/dev/null", "sh"]).arg(export.get_program()).args(export.get_args());
    let terminal = Terminal::start(&mut redirected);
    terminal.shows(&format!("{}{} 2 ", "█".repeat(16), "░".repeat(16)));
    allow.send(()).unwrap();
    terminal.shows("3 written");
}

#[test]
fn a_bar_does_not_disturb_the_lines_on_the_same_terminal() {
    let (server, allow) = two_pages();
    let mut export = dripfeed(&["outcomes", "mail", "export", "--format", "csv", "--server", &server]);
    let terminal = Terminal::start(&mut export);
    terminal.shows("░ 2 ");
    allow.send(()).unwrap();
    let row = |id: &str, second: u8| format!("{id},,,,2026-01-01T00:00:{second}Z,,,,,,,,\n");
    terminal.shows(&[row("2-0", 10), row("3-0", 20), "3 written".to_owned()].concat());
}
