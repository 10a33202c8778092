use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use regex::Regex;
use tempfile::TempDir;

use crate::program::{Running, dripfeed, run, write};

/// For what comes with time: all jobs delivered, after a replica died with some.
const PATIENCE: Duration = Duration::from_secs(90);
/// Where the README's intake listens.
const INTAKE: &str = "http://127.0.0.1:7180";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// A command of the README, and the lines that it shows below it.
#[derive(Debug)]
struct Example {
    command: String,
    shown: Vec<String>,
}

/// What stands after `$` in blocks of code. A text in quotes may go on in the next line.
fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        let Some(code) = line.strip_prefix("    ") else {
            in_block = false;
            continue;
        };
        if let Some(command) = code.strip_prefix("$ ") {
            in_block = true;
            examples.push(Example { command: command.to_owned(), shown: Vec::new() });
        } else if let Some(last) = examples.last_mut().filter(|_| in_block) {
            if last.command.matches('\'').count() % 2 == 1 {
                write!(last.command, "\n{code}").unwrap();
            } else {
                last.shown.push(code.to_owned());
            }
        }
    }
    examples
}

/// A terminal in which the README is typed: ids, names of replicas and numbers are other ones than there.
struct Terminal {
    folder: TempDir,
    server: String,
    aliases: String,
    /// Ids and process ids of the README, and those here.
    here: HashMap<String, String>,
}

impl Terminal {
    fn command(&self, command: &str) -> String {
        let here = self.here.iter().fold(command.to_owned(), |text, (there, here)| text.replace(there, here));
        here.replace(INTAKE, &self.server)
    }

    fn run(&self, command: &str) -> Output {
        let programs = Path::new(env!("CARGO_BIN_EXE_dripfeed")).parent().unwrap().display();
        let script = format!("shopt -s expand_aliases\nPATH={programs}:$PATH\n{}\n{command}", self.aliases);
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(self.folder.path()).env("DRIPFEED_SERVER", &self.server);
        bash.output().unwrap()
    }

    /// Types a command until it prints what is shown; once, where that changes something.
    fn follow(&mut self, Example { command, shown }: &Example) {
        let command = self.command(command);
        let begun = Instant::now();
        let repeatable = !["push", "--json", "XADD", "kill"].iter().any(|word| command.contains(word));
        let (pattern, ids) = pattern(shown);
        loop {
            let Output { status, stdout, stderr } = self.run(&command);
            let [out, err] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            // curl reports its progress there.
            let printed = if command.starts_with("curl") { out } else { out + &err };
            let printed: String = printed.split_whitespace().collect();
            if let Some(found) = pattern.captures(&printed).filter(|_| status.success()) {
                let found = found.iter().skip(1).map(|part| part.unwrap().as_str().to_owned());
                self.here.extend(ids.into_iter().zip(found));
                return;
            }
            let waits = repeatable && begun.elapsed() < PATIENCE;
            assert!(waits, "`{command}` prints {printed}{err}\nand not {shown:#?}, as\n{pattern}");
        }
    }
}

/// The lines without spaces, `…` for anything, and any number for a number; and what later commands may name: ids, and
/// the process id in the name of a replica.
fn pattern(shown: &[String]) -> (Regex, Vec<String>) {
    let text: String = shown.concat().split_whitespace().collect();
    let known = concat!(
        // How all jobs have ended is the same each time.
        r#"(?<same>"counts":\{[^}]*\})|"#,
        r"(?<id>\d{13}-\d+)|vm-(?<process>\d+)-[a-z]+|(?<number>\d+)|(?<any>…)"
    );
    let known = Regex::new(known).unwrap();
    let (mut pattern, mut names, mut at) = ("(?s)^".to_owned(), Vec::new(), 0);
    for found in known.captures_iter(&text) {
        let whole = found.get(0).unwrap();
        pattern += &regex::escape(&text[at..whole.start()]);
        at = whole.end();
        if let Some(name) = found.name("id").or(found.name("process")) {
            let is_id = found.name("id").is_some();
            pattern += if is_id { r"(\d{13}-\d+)" } else { r"[\w.-]*?-?(\d+)-[a-z]+" };
            names.push(name.as_str().to_owned());
        } else if let Some(same) = found.name("same") {
            pattern += &regex::escape(same.as_str());
        } else {
            pattern += if found.name("any").is_some() { ".*" } else { r"\d+" };
        }
    }
    pattern += &regex::escape(&text[at..]);
    pattern += if text.is_empty() { "" } else { "$" };
    (Regex::new(&pattern).unwrap(), names)
}

#[test]
fn the_readmes_commands_print_what_it_shows() {
    let folder = TempDir::new().unwrap();
    std::os::unix::fs::symlink(root().join("tests"), folder.path().join("tests")).unwrap();
    let data = folder.path().join(".dripfeed").display().to_string();
    // A machine with much else to do types slowly: jobs must be left when a replica is killed.
    let slow = "buckets.demo.leak.rate=2/s";
    let dev = ["dev", "--port", "0", "--echo-port", "0", "--data", &data, "--set", slow];
    let dev = Running::start(&mut dripfeed(&dev));
    let server = dev.address();
    let mut terminal = Terminal { folder, server, aliases: String::new(), here: HashMap::new() };
    let mut typed = 0;
    for example in examples(&readme()) {
        match example.command.split(['=', ' ']).next().unwrap() {
            // Runs already, and has said so.
            "make" => {
                for line in example.shown.iter().filter(|line| *line != "  …") {
                    dev.says(line.rsplit("  ").next().unwrap().trim());
                }
            }
            "PATH" => {}
            "alias" => terminal.aliases += &example.command.replace("redis-cli", "redis-cli --no-raw"),
            _ => {
                terminal.follow(&example);
                typed += 1;
            }
        }
    }
    assert!(typed >= 10, "{typed}");
    assert_eq!(dev.end(), Some(0));
}

#[test]
fn the_readmes_configuration_is_valid() {
    let folder = TempDir::new().unwrap();
    let headers = write(folder.path(), "headers", "Authorization: Bearer x\n");
    fs::set_permissions(&headers, Permissions::from_mode(0o600)).unwrap();
    let text = readme();
    let begun = text.find("    # dripfeed.toml").unwrap();
    let lines = text[begun..].lines().take_while(|line| line.is_empty() || line.starts_with("    "));
    let toml: String = lines.map(|line| format!("{}\n", line.trim_start())).collect();
    let toml = toml.replace("/etc/dripfeed/partner.headers", &headers);
    let ended = run(&["-c", &write(folder.path(), "dripfeed.toml", &toml), "check"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}
