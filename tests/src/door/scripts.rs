//! Which script a call is: the file that its source ends with is the verb.

use std::collections::HashMap;
use std::fs;

use super::resp::Command;

pub(super) struct Scripts {
    /// By hash.
    known: HashMap<Vec<u8>, String>,
    /// All files of Lua, by the name of the verb.
    files: Vec<(String, Vec<u8>)>,
}

impl Default for Scripts {
    fn default() -> Self {
        let files = crate::sources::of_the_product("lua").into_iter().map(|file| {
            let name = file.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8");
            (name.to_owned(), fs::read(&file).expect("a file of Lua"))
        });
        Self { known: HashMap::new(), files: files.collect() }
    }
}

impl Scripts {
    /// The name of a script, or of another command. None: a hash of which the source hasn't come by.
    pub(super) fn name_of(&mut self, command: &Command) -> Option<String> {
        let name = String::from_utf8_lossy(command.words.first()?).to_ascii_uppercase();
        match (name.as_str(), command.words.get(1)) {
            ("EVALSHA", Some(hash)) => self.known.get(hash).cloned(),
            ("EVAL", Some(source)) => {
                let ends = self.files.iter().filter(|(_, file)| source.ends_with(file));
                let (verb, _) = ends.max_by_key(|(_, file)| file.len()).expect("a script ends with a file of ours");
                let hash = redis::Script::new(std::str::from_utf8(source).expect("Lua is text")).get_hash().to_owned();
                self.known.insert(hash.into_bytes(), verb.clone());
                Some(verb.clone())
            }
            _ => Some(name),
        }
    }
}
