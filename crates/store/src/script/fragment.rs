//! A fragment of Lua, and its header comment, which names the fragments that it needs (`-- needs: …`), and the one that
//! it opens (`-- opens: … = …`). Parsed at compile time.

const COMMENT: &[u8] = b"--";
const NEEDS: &[u8] = b"-- needs: ";
const OPENS: &[u8] = b"-- opens: ";

/// The maximum of fragments that a text may need directly.
const MAX_NEEDS: usize = 16;

/// Fragments of Lua with different names.
pub type Fragments = [Fragment];

/// A part of a script, with the name by which others need it.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    pub(super) name: Name,
    pub(super) text: &'static str,
    pub(super) head: Head,
}

impl Fragment {
    /// Parses the header comment. Should be in a `const` table, so that the header comment is parsed once, and not for
    /// each script.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name: Name::new(name), text, head: Head::of(text) }
    }

    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name.text
    }

    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }
}

/// The name of a fragment. Names are compared by hash, because comparing texts takes the compiler seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub(super) text: &'static str,
    pub(super) hash: u64,
}

impl Name {
    pub(super) const NONE: Self = Self::new("");

    const fn new(text: &'static str) -> Self {
        // FNV-1a.
        let (bytes, mut hash) = (text.as_bytes(), 0xcbf2_9ce4_8422_2325);
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u64).wrapping_mul(0x100_0000_01b3);
            i += 1;
        }
        Self { text, hash }
    }

    /// `part` must begin and end at characters.
    const fn of(part: &'static [u8]) -> Self {
        match str::from_utf8(part) {
            Ok(text) => Self::new(text),
            Err(_) => Self::NONE,
        }
    }
}

/// The parsed header comment of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    needs: [Name; MAX_NEEDS],
    pub(super) needs_count: usize,
    pub(super) opens: Option<Opened>,
}

/// `open_turns = kind/turns`
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) function: &'static str,
    pub(super) fragment: Name,
}

impl Head {
    pub(super) const fn need(&self, number: usize) -> Name {
        self.needs[number]
    }

    const fn of(text: &'static str) -> Self {
        let mut head = Self { needs: [Name::NONE; MAX_NEEDS], needs_count: 0, opens: None };
        let mut rest = text.as_bytes();
        while begins_with(rest, COMMENT) {
            let (line, others) = split(rest, b'\n');
            if begins_with(line, NEEDS) {
                head.add_needs(line.split_at(NEEDS.len()).1);
            } else if begins_with(line, OPENS) {
                let (function, fragment) = split(line.split_at(OPENS.len()).1, b' ');
                let fragment = Name::of(after_space(split(fragment, b'=').1));
                head.opens = Some(Opened { function: Name::of(function).text, fragment });
            }
            rest = others;
        }
        head
    }

    /// Parses `now, counts`. More than `MAX_NEEDS` don't compile.
    const fn add_needs(&mut self, mut needs: &'static [u8]) {
        while !needs.is_empty() {
            let (need, others) = split(needs, b',');
            self.needs[self.needs_count] = Name::of(need);
            self.needs_count += 1;
            needs = after_space(others);
        }
    }
}

/// The parts before and after the first separator.
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

const fn after_space(text: &[u8]) -> &[u8] {
    if begins_with(text, b" ") { text.split_at(1).1 } else { text }
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
