//! Lua scripts, and calls of them.

mod fragment;
mod names;
mod parts;

use std::fmt;
use std::sync::OnceLock;

use redis::{Cmd, RedisWrite as _, ToRedisArgs};

pub use fragment::{Fragment, Fragments};
pub(crate) use names::named;
use parts::{BrokenNeeds, ScriptParts};

/// A Lua script with a name for errors. Should be a `static`, because its source is joined at the first use.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    parts: ScriptParts,
    text: OnceLock<JoinedScript>,
}

#[derive(Debug)]
struct JoinedScript {
    source: String,
    sha1: String,
}

impl Script {
    /// Creates the script of a verb, with all fragments that it needs, directly or through others, before it. The
    /// header comment of a text names its needs: `-- needs: now, counts`. If two tables have a fragment of the same
    /// name, the first one is used.
    ///
    /// # Panics
    ///
    /// If no table has a needed fragment, or a fragment needs itself or is opened twice. In a `static` this is a
    /// compile error.
    #[must_use]
    #[expect(clippy::panic, reason = "it can only be a mistake in the source, which the compiler finds")]
    pub const fn new(name: &'static str, fragments: &[&Fragments], verb: &'static str) -> Self {
        match ScriptParts::of(fragments, verb) {
            Ok(parts) => Self { name, parts, text: OnceLock::new() },
            // No table has this fragment.
            Err(BrokenNeeds::Unknown(need)) => panic!("{}", need),
            // This fragment needs itself, directly or through others.
            Err(BrokenNeeds::Circular(need)) => panic!("{}", need),
            // Two functions would each contain this fragment.
            Err(BrokenNeeds::OpenedTwice(need)) => panic!("{}", need),
            // This fragment exceeds the maximum of a script.
            Err(BrokenNeeds::TooMany(need)) => panic!("{}", need),
        }
    }

    /// Returns the joined source, to which the line numbers in errors of Redis refer.
    pub fn source(&self) -> &str {
        &self.text().source
    }

    /// Returns the hash by which Redis identifies the script. Registers the name for the slow log.
    pub fn sha1(&self) -> &str {
        &self.text().sha1
    }

    fn text(&self) -> &JoinedScript {
        self.text.get_or_init(|| {
            let source = self.parts.join();
            let sha1 = redis::Script::new(&source).get_hash().to_owned();
            names::note(self.name, &source, &sha1);
            JoinedScript { source, sha1 }
        })
    }

    /// Returns the name in errors.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Begins a call with its `KEYS`; [`Call::arg`] adds the `ARGV`.
    pub fn on<K: ToRedisArgs>(&self, keys: &[K]) -> Call<'_> {
        let mut cmd = Cmd::new();
        cmd.arg("EVALSHA").arg(&self.text().sha1).arg(keys.len()).arg(keys);
        Call { script: self, cmd, large_reply: false }
    }
}

/// One call of a script. Each argument is copied once, into the request.
#[derive(Debug, Clone)]
pub struct Call<'s> {
    script: &'s Script,
    cmd: Cmd,
    large_reply: bool,
}

impl Call<'_> {
    /// Adds the next `ARGV`: text, a number, or bytes by reference (`&body[..]`).
    pub fn arg(&mut self, arg: impl ToRedisArgs) -> &mut Self {
        self.cmd.arg(arg);
        self
    }

    /// Adds the `Display` form of `arg` as the next `ARGV`, without allocating a string.
    pub fn shown(&mut self, arg: impl fmt::Display) -> &mut Self {
        self.cmd.write_arg_fmt(arg);
        self
    }

    /// Adds several arguments.
    pub fn args(&mut self, args: impl IntoIterator<Item: ToRedisArgs>) -> &mut Self {
        for arg in args {
            self.cmd.arg(arg);
        }
        self
    }

    /// Marks the reply as possibly large, so that small requests don't wait for it.
    #[must_use]
    pub fn with_large_reply(self) -> Self {
        Self { large_reply: true, ..self }
    }

    pub(crate) fn has_large_reply(&self) -> bool {
        self.large_reply
    }

    pub(crate) fn name(&self) -> &'static str {
        self.script.name
    }

    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        // After EVALSHA, the hash, and the number of keys.
        match self.cmd.args_iter().nth(3) {
            Some(redis::Arg::Simple(key)) => Some(key),
            _ => None,
        }
    }

    /// Returns the call by hash. Fails with NOSCRIPT if Redis doesn't know the script.
    pub(crate) fn by_hash(&self) -> &Cmd {
        &self.cmd
    }

    /// Returns the call with the source, after which Redis knows the script.
    pub(crate) fn by_source(&self) -> Cmd {
        let mut cmd = Cmd::new();
        cmd.arg("EVAL").arg(self.script.source());
        for arg in self.cmd.args_iter().skip(2) {
            if let redis::Arg::Simple(bytes) = arg {
                cmd.arg(bytes);
            }
        }
        cmd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_by_hash_and_by_source_differ_only_in_the_script() {
        let script = Script::new("join", &[&[Fragment::new("a", "local a = 1")]], "-- needs: a\nreturn a");
        let mut call = script.on(&["k1", "k2"]);
        call.arg(7).arg(&b"\xff\x00"[..]);
        let sha1 = redis::Script::new("local a = 1\n-- needs: a\nreturn a");

        let mut hash = redis::cmd("EVALSHA");
        hash.arg(sha1.get_hash()).arg(2).arg("k1").arg("k2");
        hash.arg(7).arg(&b"\xff\x00"[..]);
        let mut source = redis::cmd("EVAL");
        source.arg("local a = 1\n-- needs: a\nreturn a").arg(2);
        source.arg("k1").arg("k2").arg(7).arg(&b"\xff\x00"[..]);

        assert_eq!(call.by_hash().get_packed_command(), hash.get_packed_command());
        assert_eq!(call.by_source().get_packed_command(), source.get_packed_command());
    }
}
