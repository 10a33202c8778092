//! Which fragments of Lua a script is joined from: each names what it needs, in a line `-- needs: now, counts` of the
//! comment at its head.
//!
//! All of it is worked out while the program is compiled: one with a script that needs what nobody has doesn't compile.

/// Fragments of Lua by the names that others need them by.
pub type Fragments = [(&'static str, &'static str)];

/// The most fragments of one script.
const MOST: usize = 64;
const COMMENT: &[u8] = b"--";
const NEEDS: &[u8] = b"-- needs: ";

/// The texts of one script: what each needs stands before it, each stands there once, and the verb is the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptParts {
    texts: [&'static str; MOST],
    count: usize,
}

/// Why a script can't be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenNeeds {
    /// No table has it.
    Unknown(&'static str),
    /// It needs itself, through others.
    Circular(&'static str),
    TooMany(&'static str),
}

impl ScriptParts {
    /// The parts of `verb`. Of two tables that have a fragment of one name, the first counts.
    pub(super) const fn of(tables: &[&Fragments], verb: &'static str) -> Result<Self, BrokenNeeds> {
        let parts = Self { texts: [""; MOST], count: 0 };
        let mut joining = Joining { tables, parts, met: [("", false); MOST], names: 0 };
        match joining.add("", verb) {
            Ok(()) => Ok(joining.parts),
            Err(broken) => Err(broken),
        }
    }

    pub(super) fn join(&self) -> String {
        self.texts.split_at(self.count).0.join("\n")
    }
}

struct Joining<'t> {
    tables: &'t [&'t Fragments],
    parts: ScriptParts,
    /// The names so far, and whether what they name is among the parts: what isn't yet waits for what it needs.
    met: [(&'static str, bool); MOST],
    names: usize,
}

impl Joining<'_> {
    /// First what a text needs, then itself.
    const fn add(&mut self, name: &'static str, text: &'static str) -> Result<(), BrokenNeeds> {
        if self.names == MOST {
            return Err(BrokenNeeds::TooMany(name));
        }
        let place = self.names;
        self.met[place] = (name, false);
        self.names += 1;
        let mut needs = needs_of(text);
        while !needs.is_empty() {
            let (need, others) = split(needs, b',');
            if let Err(broken) = self.add_need(need) {
                return Err(broken);
            }
            needs = if begins_with(others, b" ") { others.split_at(1).1 } else { others };
        }
        self.met[place].1 = true;
        self.parts.texts[self.parts.count] = text;
        self.parts.count += 1;
        Ok(())
    }

    const fn add_need(&mut self, need: &'static [u8]) -> Result<(), BrokenNeeds> {
        let mut i = 0;
        while i < self.names {
            let (name, joined) = self.met[i];
            if same(name.as_bytes(), need) {
                return if joined { Ok(()) } else { Err(BrokenNeeds::Circular(name)) };
            }
            i += 1;
        }
        let mut table = 0;
        while table < self.tables.len() {
            let fragments = self.tables[table];
            let mut row = 0;
            while row < fragments.len() {
                let (name, text) = fragments[row];
                if same(name.as_bytes(), need) {
                    return self.add(name, text);
                }
                row += 1;
            }
            table += 1;
        }
        match str::from_utf8(need) {
            Ok(name) => Err(BrokenNeeds::Unknown(name)),
            Err(_) => Err(BrokenNeeds::Unknown("a name that isn't UTF-8")),
        }
    }
}

/// The names in the line of the needs, in the comment at the head of a text; nothing where it has none.
const fn needs_of(text: &'static str) -> &'static [u8] {
    let mut rest = text.as_bytes();
    while begins_with(rest, COMMENT) {
        let (line, others) = split(rest, b'\n');
        if begins_with(line, NEEDS) {
            return line.split_at(NEEDS.len()).1;
        }
        rest = others;
    }
    &[]
}

/// What stands before the first separator, and what behind it.
const fn split(text: &'static [u8], separator: u8) -> (&'static [u8], &'static [u8]) {
    let mut at = 0;
    while at < text.len() {
        if text[at] == separator {
            return (text.split_at(at).0, text.split_at(at + 1).1);
        }
        at += 1;
    }
    (text, &[])
}

const fn begins_with(text: &[u8], beginning: &[u8]) -> bool {
    text.len() >= beginning.len() && same(text.split_at(beginning.len()).0, beginning)
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut i = 0;
    while i < one.len() {
        if one[i] != other[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &Fragments = &[
        ("clock", "local clock = 1"),
        ("meter", "-- Rates.\n-- needs: clock\nlocal meter = clock"),
        ("record", "-- Ends.\n-- needs: meter, clock\nlocal record = meter"),
        ("egg", "-- needs: hen\n"),
        ("hen", "-- needs: egg\n"),
        ("own", "-- needs: own\n"),
    ];

    fn joined(tables: &[&Fragments], verb: &'static str) -> Result<String, BrokenNeeds> {
        ScriptParts::of(tables, verb).map(|parts| parts.join())
    }

    #[test]
    fn what_a_part_needs_stands_before_it_and_once() {
        let [clock, meter, record] = [TABLE[0].1, TABLE[1].1, TABLE[2].1];
        let verb = "-- Settles.\n--\n-- needs: record, meter\n-- KEYS  1 jobs\nreturn record";
        assert_eq!(joined(&[TABLE], verb), Ok([clock, meter, record, verb].join("\n")));
    }

    #[test]
    fn a_text_without_needs_stands_alone() {
        for verb in ["", "return 1", "-- Says one.\nreturn 1", "return 1\n-- needs: clock", "\n-- needs: clock"] {
            assert_eq!(joined(&[TABLE], verb), Ok(verb.to_owned()));
        }
    }

    #[test]
    fn the_first_table_that_has_a_fragment_counts() {
        let own: &Fragments = &[("clock", "local clock = 2")];
        assert_eq!(joined(&[own, TABLE], "-- needs: clock\n"), Ok("local clock = 2\n-- needs: clock\n".to_owned()));
    }

    #[test]
    fn a_need_that_nobody_has_or_that_needs_itself_is_an_error() {
        assert_eq!(joined(&[TABLE], "-- needs: clock, metre\n"), Err(BrokenNeeds::Unknown("metre")));
        assert_eq!(joined(&[], "-- needs: clock\n"), Err(BrokenNeeds::Unknown("clock")));
        assert_eq!(joined(&[TABLE], "-- needs: clock,  meter\n"), Err(BrokenNeeds::Unknown(" meter")));
        assert_eq!(joined(&[TABLE], "-- needs: egg\n"), Err(BrokenNeeds::Circular("egg")));
        assert_eq!(joined(&[TABLE], "-- needs: own\n"), Err(BrokenNeeds::Circular("own")));
    }
}
