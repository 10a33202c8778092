//! A fragment of Lua, and what its header comment says: which fragments it needs (`-- needs: …`), and which one it
//! opens (`-- opens: … = …`). All of it can be read at compile time.

const COMMENT: &[u8] = b"--";
const NEEDS: &[u8] = b"-- needs: ";
const OPENS: &[u8] = b"-- opens: ";

/// Fragments of Lua, each with another name.
pub type Fragments = [Fragment];

/// A part of a script, by the name that others need it by.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    pub(super) head: Head,
}

impl Fragment {
    /// Best in a `const` table: its head is read once then, and not again for each script.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text, head: Head::of(text) }
    }

    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.text
    }
}

/// What the comment at the head of a text says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// `now, counts`
    pub(super) needs: &'static [u8],
    /// `open_turns = kind/turns`
    pub(super) opens: &'static [u8],
}

impl Head {
    const fn of(text: &'static str) -> Self {
        let mut head = Self { needs: &[], opens: &[] };
        let mut rest = text.as_bytes();
        while begins_with(rest, COMMENT) {
            let (line, others) = split(rest, b'\n');
            if begins_with(line, NEEDS) {
                head.needs = line.split_at(NEEDS.len()).1;
            } else if begins_with(line, OPENS) {
                head.opens = line.split_at(OPENS.len()).1;
            }
            rest = others;
        }
        head
    }
}

/// What stands before the first separator, and what behind it.
pub(super) const fn split(text: &'static [u8], separator: u8) -> (&'static [u8], &'static [u8]) {
    let mut at = 0;
    while at < text.len() {
        if text[at] == separator {
            return (text.split_at(at).0, text.split_at(at + 1).1);
        }
        at += 1;
    }
    (text, &[])
}

pub(super) const fn begins_with(text: &[u8], beginning: &[u8]) -> bool {
    text.len() >= beginning.len() && same(text.split_at(beginning.len()).0, beginning)
}

pub(super) const fn same(one: &[u8], other: &[u8]) -> bool {
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
