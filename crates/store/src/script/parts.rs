//! Joins a script of Lua fragments. Each names its needs in a line `-- needs: now, counts` of its header comment.
//!
//! Redis creates all functions of a script in each call, which costs more than the rest of a small call. So functions
//! that few calls use are created on demand: a line `-- opens: open_turns = kind/turns` puts the fragment `kind/turns`,
//! and everything that only it needs, into a function `open_turns()`. Such a fragment ends with `return`, and may be
//! opened once per call. It may open another one.
//!
//! This happens at compile time, so an unknown fragment doesn't compile.

use crate::script::fragment::{Fragment, Fragments, Name, Opened};

/// The maximum of fragments of a script, including the lines around opened ones.
const MAX_PARTS: usize = 80;

/// The fragments of a script, each once, after those that it needs; last the verb.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptParts {
    texts: [&'static str; MAX_PARTS],
    count: usize,
}

/// Why a script can't be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrokenNeeds {
    /// No table has this fragment.
    Unknown(&'static str),
    /// This fragment needs itself, directly or through others.
    Circular(&'static str),
    TooMany(&'static str),
    /// Two functions would each contain this fragment.
    OpenedTwice(&'static str),
}

impl ScriptParts {
    /// Creates the parts of `verb`. If two tables have a fragment of the same name, the first one is used.
    pub(super) const fn of(tables: &[&Fragments], verb: &'static str) -> Result<Self, BrokenNeeds> {
        let parts = Self { texts: [""; MAX_PARTS], count: 0 };
        let verb = Fragment::new("", verb);
        let needed = match Joining::new(tables, parts, None).join(verb) {
            Ok(joined) => joined,
            Err(broken) => return Err(broken),
        };
        if !needed.opens_any {
            return Ok(needed.parts);
        }
        // The second pass knows what is needed outside of opened fragments, and keeps that out of their functions.
        match Joining::new(tables, parts, Some(&needed.met)).join(verb) {
            Ok(joined) => Ok(joined.parts),
            Err(broken) => Err(broken),
        }
    }

    pub(super) fn join(&self) -> String {
        self.texts.split_at(self.count).0.join("\n")
    }

    const fn push_all(&mut self, texts: [&'static str; 3]) -> Result<(), BrokenNeeds> {
        let mut i = 0;
        while i < texts.len() {
            if let Err(broken) = self.push(texts[i]) {
                return Err(broken);
            }
            i += 1;
        }
        Ok(())
    }

    const fn push(&mut self, text: &'static str) -> Result<(), BrokenNeeds> {
        if self.count == MAX_PARTS {
            return Err(BrokenNeeds::TooMany(text));
        }
        self.texts[self.count] = text;
        self.count += 1;
        Ok(())
    }
}

/// The fragments that were met so far.
#[derive(Clone, Copy)]
struct Names {
    names: [Met; MAX_PARTS],
    count: usize,
}

#[derive(Clone, Copy)]
struct Met {
    name: Name,
    /// Whether it is among the parts. If not, its needs are still being added.
    is_joined: bool,
    /// The number of the function that contains it; 0 for none.
    opened_by: usize,
}

impl Names {
    const NONE: Self = Self { names: [Met { name: Name::NONE, is_joined: false, opened_by: 0 }; MAX_PARTS], count: 0 };

    const fn add(&mut self, met: Met) {
        self.names[self.count] = met;
        self.count += 1;
    }

    const fn find(&self, name: Name) -> Option<Met> {
        let mut i = 0;
        while i < self.count {
            if self.names[i].name.hash == name.hash {
                return Some(self.names[i]);
            }
            i += 1;
        }
        None
    }
}

struct Joining<'t> {
    tables: &'t [&'t Fragments],
    parts: ScriptParts,
    met: Names,
    /// The fragments outside of functions, from the first pass. `None` in the first pass, which opens nothing.
    needed: Option<&'t Names>,
    /// The number of the current function; 0 for none.
    opened_by: usize,
    /// The number of functions so far.
    functions: usize,
    /// A bit for the current function and each one around it.
    around: u64,
    /// Whether any fragment opens another one.
    opens_any: bool,
    /// The fragments that `add_needed_before` has visited.
    visited: Names,
}

impl<'t> Joining<'t> {
    const fn new(tables: &'t [&'t Fragments], parts: ScriptParts, needed: Option<&'t Names>) -> Self {
        Self {
            tables,
            parts,
            met: Names::NONE,
            needed,
            opened_by: 0,
            functions: 0,
            around: 0,
            opens_any: false,
            visited: Names::NONE,
        }
    }

    const fn join(mut self, verb: Fragment) -> Result<Self, BrokenNeeds> {
        match self.add(verb) {
            Ok(()) => Ok(self),
            Err(broken) => Err(broken),
        }
    }

    /// Adds the needs of a fragment, then the one that it opens, then itself.
    const fn add(&mut self, Fragment { name, text, head }: Fragment) -> Result<(), BrokenNeeds> {
        if self.met.count == MAX_PARTS {
            return Err(BrokenNeeds::TooMany(name.text));
        }
        let index = self.met.count;
        self.met.add(Met { name, is_joined: false, opened_by: self.opened_by });
        self.opens_any |= head.opens.is_some();
        let mut i = 0;
        while i < head.needs_count {
            if let Err(broken) = self.add_need(head.need(i)) {
                return Err(broken);
            }
            i += 1;
        }
        if self.needed.is_some()
            && let Some(opened) = head.opens
            && let Err(broken) = self.open(opened)
        {
            return Err(broken);
        }
        self.met.names[index].is_joined = true;
        self.parts.push(text)
    }

    const fn add_need(&mut self, need: Name) -> Result<(), BrokenNeeds> {
        if let Some(met) = self.met.find(need) {
            return match met {
                Met { is_joined: false, name, .. } => Err(BrokenNeeds::Circular(name.text)),
                Met { opened_by, name, .. } if opened_by != 0 && self.around & (1 << opened_by) == 0 => {
                    Err(BrokenNeeds::OpenedTwice(name.text))
                }
                _ => Ok(()),
            };
        }
        match self.fragment(need) {
            Ok(fragment) => self.add(fragment),
            Err(broken) => Err(broken),
        }
    }

    const fn open(&mut self, Opened { function, fragment }: Opened) -> Result<(), BrokenNeeds> {
        let fragment = match self.fragment(fragment) {
            Ok(found) => found,
            Err(broken) => return Err(broken),
        };
        if let Err(broken) = self.add_needed_before(fragment) {
            return Err(broken);
        }
        let (outer, around) = (self.opened_by, self.around);
        self.functions += 1;
        self.opened_by = self.functions;
        self.around |= 1 << self.functions;
        let result = match self.parts.push_all(["local function", function, "()"]) {
            Ok(()) => self.add(fragment),
            Err(broken) => Err(broken),
        };
        (self.opened_by, self.around) = (outer, around);
        match result {
            Ok(()) => self.parts.push("end"),
            Err(broken) => Err(broken),
        }
    }

    /// Adds before the function what an opened fragment needs and others need, too.
    const fn add_needed_before(&mut self, Fragment { name, head, .. }: Fragment) -> Result<(), BrokenNeeds> {
        let Some(needed) = self.needed else { return Ok(()) };
        if self.visited.find(name).is_some() {
            return Ok(());
        }
        if self.visited.count == MAX_PARTS {
            return Err(BrokenNeeds::TooMany(name.text));
        }
        self.visited.add(Met { name, is_joined: false, opened_by: 0 });
        let mut i = 0;
        while i < head.needs_count {
            let need = head.need(i);
            let added = if needed.find(need).is_some() {
                self.add_need(need)
            } else {
                match self.fragment(need) {
                    Ok(fragment) => self.add_needed_before(fragment),
                    Err(broken) => Err(broken),
                }
            };
            if let Err(broken) = added {
                return Err(broken);
            }
            i += 1;
        }
        Ok(())
    }

    const fn fragment(&self, wanted: Name) -> Result<Fragment, BrokenNeeds> {
        let mut table = 0;
        while table < self.tables.len() {
            let fragments = self.tables[table];
            let mut row = 0;
            while row < fragments.len() {
                if fragments[row].name.hash == wanted.hash {
                    return Ok(fragments[row]);
                }
                row += 1;
            }
            table += 1;
        }
        Err(BrokenNeeds::Unknown(wanted.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &Fragments = &[
        Fragment::new("clock", "local clock = 1"),
        Fragment::new("meter", "-- Rates.\n-- needs: clock\nlocal meter = clock"),
        Fragment::new("record", "-- Ends.\n-- needs: meter, clock\nlocal record = meter"),
        Fragment::new("egg", "-- needs: hen\n"),
        Fragment::new("hen", "-- needs: egg\n"),
        Fragment::new("own", "-- needs: own\n"),
        Fragment::new("rare", "-- needs: meter\nreturn meter"),
        Fragment::new("also_rare", "-- needs: rare\nreturn rare"),
    ];

    fn joined(tables: &[&Fragments], verb: &'static str) -> Result<String, BrokenNeeds> {
        ScriptParts::of(tables, verb).map(|parts| parts.join())
    }

    #[test]
    fn needed_fragments_come_first_and_only_once() {
        let [clock, meter, record] = [TABLE[0].text, TABLE[1].text, TABLE[2].text];
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
        let own: &Fragments = &[Fragment::new("clock", "local clock = 2")];
        assert_eq!(joined(&[own, TABLE], "-- needs: clock\n"), Ok("local clock = 2\n-- needs: clock\n".to_owned()));
    }

    #[test]
    fn an_opened_fragment_is_a_function_with_the_fragments_that_only_it_needs() {
        let [clock, meter, record] = [TABLE[0].text, TABLE[1].text, TABLE[2].text];
        let rare = TABLE[6].text;
        let function = ["local function", "open_rare", "()"];
        let verb = "-- opens: open_rare = rare\n-- needs: clock\nreturn open_rare()";
        let expected = [&[clock][..], &function, &[meter, rare, "end", verb]].concat().join("\n");
        assert_eq!(joined(&[TABLE], verb), Ok(expected));
        // It is needed in any case, later.
        let other: &Fragments = &[Fragment::new("opener", "-- opens: open_rare = rare\n")];
        let verb = "-- needs: opener, record\n";
        let expected =
            [&[clock, meter][..], &function, &[rare, "end", other[0].text, record, verb]].concat().join("\n");
        assert_eq!(joined(&[other, TABLE], verb), Ok(expected));
    }

    #[test]
    fn an_opened_fragment_can_open_another_one_that_uses_its_functions() {
        let two: &Fragments = &[
            Fragment::new("outer", "-- needs: meter\n-- opens: open_inner = inner\nreturn open_inner"),
            Fragment::new("inner", "-- needs: meter, clock\nreturn meter"),
        ];
        let [clock, meter] = [TABLE[0].text, TABLE[1].text];
        let verb = "-- opens: open_outer = outer\nreturn open_outer()";
        let expected = [
            &["local function", "open_outer", "()", clock, meter][..],
            &["local function", "open_inner", "()", two[1].text, "end", two[0].text, "end", verb],
        ];
        assert_eq!(joined(&[two, TABLE], verb), Ok(expected.concat().join("\n")));
    }

    #[test]
    fn opening_a_fragment_by_two_functions_is_an_error() {
        let two: &Fragments = &[
            Fragment::new("one", "-- opens: open_one = rare\n"),
            Fragment::new("two", "-- opens: open_two = also_rare\n"),
        ];
        assert_eq!(joined(&[two, TABLE], "-- needs: one, two\n"), Err(BrokenNeeds::OpenedTwice("rare")));
        assert_eq!(joined(&[], "-- opens: open_it = it\n"), Err(BrokenNeeds::Unknown("it")));
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
