//! Identifies the script that a command runs: the last file whose first line is in its source is the verb.

use std::collections::HashMap;
use std::fs;
use std::sync::LazyLock;

use crate::proxy::resp;
use crate::sources;

/// The first lines of all Lua files, by verb. All are different, and planted bugs don't change them.
static FILES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let files = sources::of_the_product("lua").into_iter().map(|file| {
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let text = fs::read_to_string(&file).expect("a file of Lua");
        (name.to_owned(), text.lines().next().expect("a file that says what it is").to_owned())
    });
    files.collect()
});

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    Script(&'static str),
    /// A script that was called by its hash before its source was sent.
    UnknownScript,
    /// The name of a command in capitals.
    Command(String),
}

/// The scripts whose source was sent.
#[derive(Default)]
pub(crate) struct Scripts {
    by_hash: HashMap<Vec<u8>, &'static str>,
}

impl Scripts {
    /// `None` if it isn't a command.
    pub(crate) fn called_by(&mut self, command: &[u8]) -> Option<Called> {
        let [name] = resp::words(command)?;
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        Some(match (name.as_str(), resp::words(command)) {
            ("EVALSHA", Some([_, hash])) => {
                self.by_hash.get(hash).map_or(Called::UnknownScript, |name| Called::Script(name))
            }
            ("EVAL", Some([_, source])) => {
                let source = std::str::from_utf8(source).expect("Lua is text");
                let parts = FILES.iter().filter_map(|(name, first)| Some((source.rfind(first.as_str())?, name)));
                let (_, verb) = parts.max().expect("a script has a file of ours");
                let hash = redis::Script::new(source).get_hash().to_owned();
                self.by_hash.insert(hash.into_bytes(), verb);
                Called::Script(verb)
            }
            _ => Called::Command(name),
        })
    }
}
