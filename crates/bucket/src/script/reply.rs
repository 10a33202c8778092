//! Parses replies of scripts, member by member. Bodies are moved, not copied.

use bytes::Bytes;
use redis::Value;

use super::packed::{Packed, PackedArray};
use crate::error::BucketError;

/// Maximum bytes of a text that dripfeed didn't write.
const MAX_SHOWN_BYTES: usize = 256;

/// The members of a script's reply that weren't read yet.
pub(crate) struct Reply {
    script: &'static str,
    members: Members,
}

enum Members {
    Parsed(std::vec::IntoIter<Value>),
    Packed(PackedArray),
}

enum Member {
    Number(i64),
    Bytes(Bytes),
    Array(Members),
    /// Its description in errors.
    Other(&'static str),
}

impl Members {
    fn len(&self) -> usize {
        match self {
            Self::Parsed(members) => members.len(),
            Self::Packed(members) => members.len(),
        }
    }

    fn next(&mut self) -> Option<Member> {
        match self {
            Self::Parsed(members) => members.next().map(Member::from),
            Self::Packed(members) => members.next().map(Member::from),
        }
    }
}

impl From<Value> for Member {
    fn from(value: Value) -> Self {
        match value {
            Value::Int(number) => Self::Number(number),
            Value::BulkString(bytes) => Self::Bytes(bytes.into()),
            Value::SimpleString(text) => Self::Bytes(text.into()),
            Value::Okay => Self::Bytes(Bytes::from_static(b"OK")),
            Value::Array(members) => Self::Array(Members::Parsed(members.into_iter())),
            Value::Nil => Self::Other("nothing"),
            _ => Self::Other("something else"),
        }
    }
}

impl From<Packed> for Member {
    fn from(packed: Packed) -> Self {
        match packed {
            Packed::Number(number) => Self::Number(number),
            Packed::Text(text) => Self::Bytes(text),
            Packed::Array(members) => Self::Array(Members::Packed(members)),
        }
    }
}

impl Reply {
    /// `value`: an array, or one packed by `cmsgpack` into a string, which is faster to write and to read.
    pub(crate) fn new(script: &'static str, value: Value) -> Result<Self, BucketError> {
        match value {
            Value::BulkString(packed) => match PackedArray::read(packed.into()) {
                Some(members) => Ok(Self { script, members: Members::Packed(members) }),
                None => Err(BucketError::Reply { script, what: "what it packed can't be read".to_owned() }),
            },
            other => Self::of_array(script, other.into()),
        }
    }

    fn of_array(script: &'static str, member: Member) -> Result<Self, BucketError> {
        match member {
            Member::Array(members) => Ok(Self { script, members }),
            other => Err(unreadable(script, "an array", &other)),
        }
    }

    fn next(&mut self, wanted: &str) -> Result<Member, BucketError> {
        self.members
            .next()
            .ok_or_else(|| BucketError::Reply { script: self.script, what: format!("{wanted} is missing") })
    }

    /// The next member, itself an array.
    pub(crate) fn array(&mut self) -> Result<Self, BucketError> {
        let member = self.next("an array")?;
        Self::of_array(self.script, member)
    }

    /// The next member as bytes. Those of a packed reply share its memory.
    pub(crate) fn bytes(&mut self) -> Result<Bytes, BucketError> {
        match self.next("a string")? {
            Member::Bytes(bytes) => Ok(bytes),
            other => Err(unreadable(self.script, "a string", &other)),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, BucketError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.into())
            .map_err(|_| BucketError::Reply { script: self.script, what: "a string isn't UTF-8".to_owned() })
    }

    /// A text that dripfeed may not have written: truncated, and with invalid UTF-8 replaced.
    pub(crate) fn shown(&mut self) -> Result<String, BucketError> {
        let bytes = self.bytes()?;
        Ok(String::from_utf8_lossy(bytes.get(..MAX_SHOWN_BYTES).unwrap_or(&bytes)).into_owned())
    }

    /// A number, as an integer or as its text.
    pub(crate) fn number(&mut self) -> Result<i64, BucketError> {
        let member = self.next("a number")?;
        let read = match &member {
            Member::Number(number) => Some(*number),
            Member::Bytes(digits) => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
            Member::Array(_) | Member::Other(_) => None,
        };
        read.ok_or_else(|| unreadable(self.script, "a number", &member))
    }

    /// A number that can't be negative.
    pub(crate) fn count(&mut self) -> Result<u64, BucketError> {
        let number = self.number()?;
        u64::try_from(number)
            .map_err(|_| BucketError::Reply { script: self.script, what: format!("{number} is negative") })
    }

    /// Parses the next member's text.
    pub(crate) fn parse<T: std::str::FromStr>(&mut self) -> Result<T, BucketError> {
        let bytes = self.bytes()?;
        let parsed = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
        parsed.ok_or_else(|| {
            let text = String::from_utf8_lossy(&bytes);
            BucketError::Reply { script: self.script, what: format!("`{text}` is of another kind") }
        })
    }

    /// The rest as names and values, as [`Reply::bytes`] returns them.
    pub(crate) fn pairs(mut self) -> Result<Vec<(Bytes, Bytes)>, BucketError> {
        let mut pairs = Vec::with_capacity(self.members.len() / 2);
        while !self.is_empty() {
            pairs.push((self.bytes()?, self.bytes()?));
        }
        Ok(pairs)
    }

    /// The rest as names and values, with invalid UTF-8 replaced.
    pub(crate) fn fields(mut self) -> Result<Vec<(String, String)>, BucketError> {
        let lossy = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
        let mut fields = Vec::with_capacity(self.members.len() / 2);
        while !self.is_empty() {
            fields.push((lossy(self.bytes()?), lossy(self.bytes()?)));
        }
        Ok(fields)
    }

    /// Whether the next member is this word.
    pub(crate) fn begins_with(&self, word: &str) -> bool {
        match &self.members {
            Members::Parsed(members) => {
                matches!(members.as_slice().first(), Some(Value::BulkString(bytes)) if bytes == word.as_bytes())
            }
            Members::Packed(members) => members.begins_with(word),
        }
    }

    /// Whether the next member is an array.
    pub(crate) fn begins_with_array(&self) -> bool {
        match &self.members {
            Members::Parsed(members) => matches!(members.as_slice().first(), Some(Value::Array(_))),
            Members::Packed(members) => members.begins_with_array(),
        }
    }

    /// How many members are left.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The error for a reply with an unknown word.
    pub(crate) fn unknown<T>(&self, word: &str) -> Result<T, BucketError> {
        Err(BucketError::Reply { script: self.script, what: format!("unexpected reply `{word}`") })
    }
}

fn unreadable(script: &'static str, wanted: &str, found: &Member) -> BucketError {
    let kind = match found {
        Member::Number(_) => "a number",
        Member::Bytes(_) => "a string",
        Member::Array(_) => "an array",
        Member::Other(kind) => kind,
    };
    BucketError::Reply { script, what: format!("{kind} where {wanted} was expected") }
}
