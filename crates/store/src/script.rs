//! Lua scripts: what is run, and one call of it.

use redis::{Cmd, ToRedisArgs};

/// A Lua script with a name for errors. Made once, best in a `static LazyLock<Script>`.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    source: String,
    sha1: String,
}

impl Script {
    /// The script whose source is `parts` one after the other: functions that several scripts
    /// share come first, the verb last. Redis answers with line numbers of the joined text.
    pub fn new(name: &'static str, parts: &[&'static str]) -> Self {
        let source = parts.join("\n");
        let sha1 = redis::Script::new(&source).get_hash().to_owned();
        Self { name, source, sha1 }
    }

    /// The name in errors.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Begins a call with its `KEYS`; [`Call::arg`] adds the `ARGV`.
    pub fn on<K: ToRedisArgs>(&self, keys: &[K]) -> Call<'_> {
        let mut cmd = Cmd::new();
        cmd.arg("EVALSHA").arg(&self.sha1).arg(keys.len()).arg(keys);
        Call { script: self, cmd }
    }
}

/// One call of a script. Each argument is copied once, into the request.
#[derive(Debug, Clone)]
pub struct Call<'s> {
    script: &'s Script,
    cmd: Cmd,
}

impl Call<'_> {
    /// Adds the next `ARGV`: text, a number, or bytes by reference (`&body[..]`).
    pub fn arg(&mut self, arg: impl ToRedisArgs) -> &mut Self {
        self.cmd.arg(arg);
        self
    }

    pub(crate) fn name(&self) -> &'static str {
        self.script.name
    }

    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        // After EVALSHA, the hash, and how many keys there are.
        match self.cmd.args_iter().nth(3) {
            Some(redis::Arg::Simple(key)) => Some(key),
            _ => None,
        }
    }

    /// The call by hash: small, and fails with NOSCRIPT where Redis doesn't know the script.
    pub(crate) fn by_hash(&self) -> &Cmd {
        &self.cmd
    }

    /// The same call with the source: Redis knows the script from then on.
    pub(crate) fn by_source(&self) -> Cmd {
        let mut cmd = Cmd::new();
        cmd.arg("EVAL").arg(&self.script.source);
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
    fn both_forms_of_a_call_differ_in_the_script_alone() {
        let script = Script::new("join", &["local a = 1", "return a"]);
        let mut call = script.on(&["k1", "k2"]);
        call.arg(7).arg(&b"\xff\x00"[..]);
        let sha1 = redis::Script::new("local a = 1\nreturn a");

        let mut hash = redis::cmd("EVALSHA");
        hash.arg(sha1.get_hash()).arg(2).arg("k1").arg("k2");
        hash.arg(7).arg(&b"\xff\x00"[..]);
        let mut source = redis::cmd("EVAL");
        source.arg("local a = 1\nreturn a").arg(2);
        source.arg("k1").arg("k2").arg(7).arg(&b"\xff\x00"[..]);

        assert_eq!(call.by_hash().get_packed_command(), hash.get_packed_command());
        assert_eq!(call.by_source().get_packed_command(), source.get_packed_command());
    }
}
