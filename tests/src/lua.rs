//! Checks all Lua files with Redis' own compiler, alone and joined with the fragments that they need.

mod bytecode;
mod headers;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use dripfeed_auth::KEY_FRAGMENTS;
use dripfeed_bucket::{Kind, fragments, fragments_without_rules};
use dripfeed_limit::RULES_FRAGMENTS;
use dripfeed_store::{Fragment, Fragments, Script, Store};

use crate::redis_server::TestRedis;
use crate::sources;
use bytecode::Chunk;

/// The globals that Redis provides.
const OF_REDIS: [&str; 22] = [
    "redis", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit", "string", "table", "math", "assert", "error",
    "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type", "unpack", "xpcall",
];

/// Files in this folder are parts of the body of a function with the argument `code`.
const IN_LIMIT_KIND: &str = "crates/limit/src/kinds/";

struct File {
    /// Relative to the root of the workspace.
    path: String,
    text: &'static str,
    /// The tables of fragments with which it can be joined: one for each kind of bucket that has all needed fragments.
    tables: Vec<&'static [&'static Fragments]>,
}

impl File {
    fn is_verb(&self) -> bool {
        !headers::section(self.text, "Result").is_empty()
    }

    fn stem(&self) -> &str {
        self.path.rsplit('/').next().and_then(|name| name.strip_suffix(".lua")).expect("a file of Lua")
    }

    /// The needs of opened fragments. If a needed fragment opens another one with the same need, the file lists that
    /// need, so that it is included once before both.
    fn needs_of_opened(&self) -> BTreeSet<&'static str> {
        let mut needs = BTreeSet::new();
        let mut open: Vec<&str> = headers::opens(self.text).map(|(_, fragment)| fragment).into_iter().collect();
        while let Some(name) = open.pop() {
            let texts = self.tables.iter().filter_map(|tables| fragment(tables, name));
            open.extend(texts.flat_map(headers::needs).filter(|need| needs.insert(*need)));
        }
        needs
    }

    /// The file joined with its fragments, once per table.
    fn scripts(&self) -> impl Iterator<Item = Script> {
        self.tables.iter().map(|tables| Script::new("a file of Lua", tables, self.text))
    }
}

fn files() -> Vec<File> {
    let root = sources::from_the_root("");
    let file = |path: std::path::PathBuf| {
        let text = &*fs::read_to_string(&path).expect("a file of Lua").leak();
        let path = path.strip_prefix(&root).expect("below the root").to_str().expect("a path in UTF-8").to_owned();
        let mut tables = if path.starts_with("crates/limit/") {
            vec![RULES_FRAGMENTS]
        } else if path.starts_with("crates/auth/") || path.starts_with("crates/store/") {
            vec![KEY_FRAGMENTS]
        } else if path.contains("/kind/stream/") {
            vec![fragments(Kind::Stream)]
        } else if path.contains("/kind/list/") {
            vec![fragments(Kind::List)]
        } else if path.starts_with("crates/bucket/") {
            let tables = |kind| [fragments(kind), fragments_without_rules(kind)];
            [Kind::Stream, Kind::List].map(tables).concat()
        } else {
            vec![&[][..]]
        };
        tables.retain(|tables| headers::needs(text).iter().all(|need| fragment(tables, need).is_some()));
        File { path, text, tables }
    };
    sources::of_the_product("lua").into_iter().map(file).collect()
}

fn fragment(tables: &[&Fragments], need: &str) -> Option<&'static str> {
    tables.iter().flat_map(|table| table.iter()).find(|fragment| fragment.name() == need).map(Fragment::text)
}

/// Compiles a text in Redis. Returns Redis' error if it is invalid.
async fn compile(redis: &Store, text: &str) -> Result<Chunk, String> {
    const COMPILE: &str = "
        local chunk, problem = loadstring(ARGV[1])
        return chunk and string.dump(chunk) or redis.error_reply(problem)";
    let mut eval = redis::cmd("EVAL");
    eval.arg(COMPILE).arg(0).arg(text);
    redis.command::<Vec<u8>>(&eval).await.map(|dump| bytecode::read(&dump)).map_err(|error| format!("{error:?}"))
}

#[tokio::test]
async fn every_file_of_lua_parses_by_itself() {
    let server = TestRedis::start().await;
    let redis = server.store().await;
    assert!(compile(&redis, "return return").await.is_err());
    for file in files() {
        let compiled = compile(&redis, file.text).await;
        assert!(compiled.is_ok(), "{}: {compiled:?}", file.path);
    }
}

#[tokio::test]
async fn every_file_has_all_that_it_uses_from_what_it_needs() {
    let server = TestRedis::start().await;
    let redis = server.store().await;
    let planted = compile(&redis, "local known = 1\nlocal function f()\n  unknown = known\nend").await.expect("Lua");
    let [global] = &planted.globals[..] else { panic!("{planted:?}") };
    assert_eq!((&*global.name, global.line, global.written), ("unknown", 3, true));

    for file in files().iter().filter(|file| !file.path.starts_with(IN_LIMIT_KIND)) {
        assert!(!file.tables.is_empty(), "{} needs what no kind has", file.path);
        // The kinds of limits aren't separate fragments: one function contains all of them.
        for script in file.scripts() {
            let chunk = compile(&redis, script.source()).await.unwrap_or_else(|error| panic!("{}: {error}", file.path));
            let foreign = chunk.globals.iter().find(|global| global.written || !OF_REDIS.contains(&&*global.name));
            let line = foreign.and_then(|global| script.source().lines().nth(global.line as usize - 1));
            assert_eq!(foreign, None, "{}, joined: {line:?}", file.path);
        }
    }
}

#[tokio::test]
async fn no_file_needs_what_it_does_not_use() {
    let server = TestRedis::start().await;
    let redis = server.store().await;
    let mut compiled = BTreeMap::new();
    for file in files() {
        // The text of the fragment, if it has more than the file.
        let named = file.tables.iter().flat_map(|tables| tables.iter().flat_map(|table| table.iter()));
        let text = named.map(Fragment::text).find(|text| text.starts_with(file.text)).unwrap_or(file.text);
        let used: BTreeSet<String> =
            compile(&redis, text).await.expect("Lua").globals.into_iter().map(|global| global.name).collect();
        if let Some((function, _)) = headers::opens(file.text) {
            assert!(used.contains(function), "{} doesn't call `{function}`", file.path);
        }
        let opened = file.needs_of_opened();
        for need in headers::needs(file.text).into_iter().filter(|need| !opened.contains(need)) {
            let mut provided = BTreeSet::new();
            for text in file.tables.iter().filter_map(|tables| fragment(tables, need)) {
                if !compiled.contains_key(text) {
                    compiled.insert(text, compile(&redis, text).await.expect("Lua").locals);
                }
                provided.extend(compiled[text].iter().cloned());
            }
            // A fragment without functions has an effect where it is included.
            assert!(provided.is_empty() || !provided.is_disjoint(&used), "{} doesn't use `{need}`", file.path);
        }
    }
}

#[test]
fn every_file_is_a_verb_or_a_fragment_by_its_name() {
    let kinds = [fragments(Kind::Stream), fragments_without_rules(Kind::List), KEY_FRAGMENTS, RULES_FRAGMENTS];
    let fragments = kinds.iter().flat_map(|tables| tables.iter().flat_map(|table| table.iter()));
    let all: BTreeSet<(&str, &str)> = fragments.map(|fragment| (fragment.name(), fragment.text())).collect();
    for file in files().iter().filter(|file| !file.is_verb()) {
        let own = all.iter().find(|(name, text)| {
            let is_whole = text.trim_end() == file.text.trim_end();
            let is_part = text.contains(file.text) && (name == &"rules/kinds");
            (is_whole && name.rsplit('/').next() == Some(file.stem())) || is_part
        });
        assert!(own.is_some(), "{} is joined into nothing, or under another name", file.path);
    }
}

#[test]
fn every_need_of_memory_is_met_first() {
    let first = fragment(fragments(Kind::Stream), "at_maxmemory").expect("a fragment");
    let scripts = files().into_iter().filter(File::is_verb).flat_map(|file| file.scripts().collect::<Vec<_>>());
    let mut count = 0;
    for script in scripts.filter(|script| script.source().contains(first)) {
        assert!(script.source().starts_with(first), "{}", script.source());
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn every_verb_says_what_it_is_given_and_what_it_answers() {
    for verb in files().iter().filter(|file| file.is_verb()) {
        let sources: Vec<String> = verb.scripts().map(|script| script.source().to_owned()).collect();
        for table in ["KEYS", "ARGV"] {
            let section = headers::section(verb.text, table);
            let (listed, many) = headers::numbered(&section);
            assert_eq!(listed, (1..=listed.len()).collect::<Vec<_>>(), "{}: {section:?}", verb.path);
            let read: BTreeSet<usize> =
                sources.iter().flat_map(|source| headers::read_by_number(source, table)).collect();
            let unlisted: Vec<_> = read.iter().filter(|place| !listed.contains(place)).collect();
            assert!(unlisted.is_empty(), "{} reads {table} {unlisted:?} and doesn't say what it is", verb.path);
            // An argument may be only for the other kind of bucket. Repeated arguments aren't read by number.
            let unread: Vec<_> = listed.iter().filter(|place| !read.contains(place)).collect();
            let read_otherwise = usize::from(many);
            let is_all = table == "ARGV" || unread.len() <= read_otherwise;
            assert!(is_all, "{} says that {table} {unread:?} are given, and doesn't read them", verb.path);
        }
        assert!(!headers::section(verb.text, "KEYS").is_empty(), "{} has no KEYS", verb.path);
    }
}
