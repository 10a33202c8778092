use std::collections::VecDeque;

use super::{Names, check, printed};

#[tokio::test]
async fn commands_and_options_keep_their_names() {
    let mut names = Names::new();
    let mut open = VecDeque::from([vec![]]);
    while let Some(command) = open.pop_front() {
        let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = printed(&arguments).await;
        let name = command.join(" ");
        names.extend(options(&help).map(|option| format!("{name} {option}").trim().to_owned()));
        open.extend(commands(&help).map(|child| [command.clone(), vec![child.to_owned()]].concat()));
        names.insert(name);
    }
    check("commands", &names);
}

/// The names below `Commands:`.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

/// Options, and arguments by position.
fn options(help: &str) -> impl Iterator<Item = String> {
    let words = help.lines().filter_map(|line| {
        let line = line.trim_start();
        (line.starts_with('-') || line.starts_with('<') || line.starts_with('[')).then_some(line)
    });
    words.filter_map(|line| {
        let name = line.split("  ").next()?;
        (!name.starts_with("[default") && !name.starts_with("[possible")).then(|| name.to_owned())
    })
}
