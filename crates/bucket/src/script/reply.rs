//! Reads what scripts answer, member by member. Bodies are moved, not copied.

use bytes::Bytes;
use redis::Value;
use rmpv::ValueRef;

use crate::error::BucketError;

/// In bytes: of a text that isn't ours.
const LONGEST_SHOWN: usize = 256;

/// Of arrays in an answer that was packed, each of which counts as two.
const DEEPEST: usize = 16;

/// The rest of a script's answer.
pub(crate) struct Reply {
    script: &'static str,
    members: std::vec::IntoIter<Value>,
}

impl Reply {
    /// An answer as an array, or packed by `cmsgpack` into a string, which is quicker to write and to read.
    pub(crate) fn new(script: &'static str, value: Value) -> Result<Self, BucketError> {
        match value {
            Value::BulkString(packed) => Self::of_array(script, unpacked(&packed).ok_or_else(|| broken(script))?),
            other => Self::of_array(script, other),
        }
    }

    fn of_array(script: &'static str, value: Value) -> Result<Self, BucketError> {
        match value {
            Value::Array(members) => Ok(Self { script, members: members.into_iter() }),
            other => Err(unreadable(script, "an array", &other)),
        }
    }

    fn next(&mut self, wanted: &str) -> Result<Value, BucketError> {
        self.members
            .next()
            .ok_or_else(|| BucketError::Reply { script: self.script, what: format!("{wanted} is missing") })
    }

    /// The next member, itself an array.
    pub(crate) fn array(&mut self) -> Result<Self, BucketError> {
        let value = self.next("an array")?;
        Self::of_array(self.script, value)
    }

    /// The next member, where that is an array; else the next `members` of them.
    pub(crate) fn one_of_many(&mut self, members: usize) -> Result<Self, BucketError> {
        if matches!(self.members.as_slice().first(), Some(Value::Array(_))) {
            return self.array();
        }
        let members: Vec<Value> = self.members.by_ref().take(members).collect();
        Self::of_array(self.script, Value::Array(members))
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, BucketError> {
        match self.next("a string")? {
            Value::BulkString(bytes) => Ok(bytes.into()),
            Value::SimpleString(text) => Ok(text.into()),
            Value::Okay => Ok(Bytes::from_static(b"OK")),
            other => Err(unreadable(self.script, "a string", &other)),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, BucketError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.into())
            .map_err(|_| BucketError::Reply { script: self.script, what: "a string isn't UTF-8".to_owned() })
    }

    /// A text that somebody else may have written: cut, and what is no UTF-8 is replaced.
    pub(crate) fn shown(&mut self) -> Result<String, BucketError> {
        let bytes = self.bytes()?;
        Ok(String::from_utf8_lossy(bytes.get(..LONGEST_SHOWN).unwrap_or(&bytes)).into_owned())
    }

    /// A number, as an integer or as its text.
    pub(crate) fn number(&mut self) -> Result<i64, BucketError> {
        let value = self.next("a number")?;
        let read = match &value {
            Value::Int(number) => Some(*number),
            Value::BulkString(digits) => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
            _ => None,
        };
        read.ok_or_else(|| unreadable(self.script, "a number", &value))
    }

    /// A number that can't be negative.
    pub(crate) fn count(&mut self) -> Result<u64, BucketError> {
        let number = self.number()?;
        u64::try_from(number)
            .map_err(|_| BucketError::Reply { script: self.script, what: format!("{number} is negative") })
    }

    /// What parses from the next member's text.
    pub(crate) fn parse<T: std::str::FromStr>(&mut self) -> Result<T, BucketError> {
        let text = self.text()?;
        text.parse()
            .map_err(|_| BucketError::Reply { script: self.script, what: format!("`{text}` is of another kind") })
    }

    /// The rest as names and values.
    pub(crate) fn pairs(mut self) -> Result<Vec<(Bytes, Bytes)>, BucketError> {
        let mut pairs = Vec::with_capacity(self.members.len() / 2);
        while self.members.len() > 0 {
            pairs.push((self.bytes()?, self.bytes()?));
        }
        Ok(pairs)
    }

    /// The rest as texts, no matter who wrote them.
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
        matches!(self.members.as_slice().first(), Some(Value::BulkString(bytes)) if bytes == word.as_bytes())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.len() == 0
    }

    /// An answer that begins with a word the Rust side doesn't know.
    pub(crate) fn unknown<T>(&self, word: &str) -> Result<T, BucketError> {
        Err(BucketError::Reply { script: self.script, what: format!("`{word}` means nothing here") })
    }
}

/// As Redis would have answered it. None: it can't be read.
fn unpacked(mut packed: &[u8]) -> Option<Value> {
    let read = rmpv::decode::read_value_ref_with_max_depth(&mut packed, DEEPEST).ok()?;
    packed.is_empty().then(|| of_packed(&read)).flatten()
}

fn of_packed(read: &ValueRef<'_>) -> Option<Value> {
    Some(match read {
        ValueRef::Integer(number) => Value::Int(number.as_i64()?),
        // What Redis does with a number of Lua.
        #[expect(clippy::cast_possible_truncation, reason = "that is meant")]
        ValueRef::F64(number) => Value::Int(*number as i64),
        ValueRef::String(text) => Value::BulkString(text.as_bytes().to_vec()),
        ValueRef::Array(members) => Value::Array(members.iter().map(of_packed).collect::<Option<_>>()?),
        _ => return None,
    })
}

fn broken(script: &'static str) -> BucketError {
    BucketError::Reply { script, what: "what it packed can't be read".to_owned() }
}

fn unreadable(script: &'static str, wanted: &str, found: &Value) -> BucketError {
    let kind = match found {
        Value::Nil => "nothing",
        Value::Int(_) => "a number",
        Value::BulkString(_) | Value::SimpleString(_) => "a string",
        Value::Array(_) => "an array",
        _ => "something else",
    };
    BucketError::Reply { script, what: format!("{kind} where {wanted} was expected") }
}
