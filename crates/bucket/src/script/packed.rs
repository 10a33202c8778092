//! Parses replies that scripts have packed with `cmsgpack` (MessagePack), member by member.

use bytes::{Buf as _, Bytes};

/// The maximum depth of nested arrays.
const MAX_DEPTH: usize = 8;

/// The rest of a packed array, which is known to be complete.
#[derive(Clone, Debug)]
pub(super) struct PackedArray {
    rest: Bytes,
    members: usize,
}

/// A member of a packed array.
pub(super) enum Packed {
    Number(i64),
    /// Shares the memory of the reply.
    Text(Bytes),
    Array(PackedArray),
}

/// The head of a packed value.
#[derive(Clone, Copy)]
enum Head {
    Number(i64),
    /// With its length in bytes.
    Text(usize),
    /// With the number of its members.
    Array(usize),
}

impl PackedArray {
    /// Returns `None` if the value isn't a complete array.
    pub(super) fn read(mut packed: Bytes) -> Option<Self> {
        let (Head::Array(members), head) = Head::read(&packed)? else { return None };
        if length(&packed, MAX_DEPTH)? != packed.len() {
            return None;
        }
        packed.advance(head);
        Some(Self { rest: packed, members })
    }

    pub(super) const fn len(&self) -> usize {
        self.members
    }

    /// Whether the next member is this text.
    pub(super) fn begins_with(&self, text: &str) -> bool {
        let Some((Head::Text(length), head)) = Head::read(&self.rest) else { return false };
        self.members > 0 && self.rest.get(head..head + length) == Some(text.as_bytes())
    }

    /// Whether the next member is an array.
    pub(super) fn begins_with_array(&self) -> bool {
        self.members > 0 && matches!(Head::read(&self.rest), Some((Head::Array(_), _)))
    }

    pub(super) fn next(&mut self) -> Option<Packed> {
        self.members = self.members.checked_sub(1)?;
        let (kind, head) = Head::read(&self.rest)?;
        self.rest.advance(head);
        Some(match kind {
            Head::Number(number) => Packed::Number(number),
            Head::Text(length) => Packed::Text(self.rest.split_to(length)),
            Head::Array(members) => {
                let rest = self.rest.clone();
                self.rest.advance(length_of_members(&rest, members, MAX_DEPTH)?);
                Packed::Array(Self { rest, members })
            }
        })
    }
}

/// The length of the first value. Returns `None` if it is incomplete, or of a type that scripts don't return.
fn length(packed: &[u8], depth: usize) -> Option<usize> {
    let (kind, head) = Head::read(packed)?;
    let rest = packed.get(head..)?;
    let length = match kind {
        Head::Number(_) => 0,
        Head::Text(length) => length,
        Head::Array(members) => length_of_members(rest, members, depth.checked_sub(1)?)?,
    };
    (length <= rest.len()).then_some(head + length)
}

fn length_of_members(packed: &[u8], members: usize, depth: usize) -> Option<usize> {
    let mut read = 0;
    for _ in 0..members {
        read += length(packed.get(read..)?, depth)?;
    }
    Some(read)
}

impl Head {
    /// Parses a head. Returns also its length.
    fn read(packed: &[u8]) -> Option<(Self, usize)> {
        let (&kind, rest) = packed.split_first()?;
        Some(match kind {
            0x00..=0x7f => (Self::Number(kind.into()), 1),
            0x90..=0x9f => (Self::Array((kind & 0x0f).into()), 1),
            0xa0..=0xbf => (Self::Text((kind & 0x1f).into()), 1),
            0xca => (Self::of_float(f32::from_be_bytes(first(rest)?).into()), 5),
            0xcb => (Self::of_float(f64::from_be_bytes(first(rest)?)), 9),
            0xcc => (Self::Number(u8::from_be_bytes(first(rest)?).into()), 2),
            0xcd => (Self::Number(u16::from_be_bytes(first(rest)?).into()), 3),
            0xce => (Self::Number(u32::from_be_bytes(first(rest)?).into()), 5),
            0xcf => (Self::Number(u64::from_be_bytes(first(rest)?).try_into().ok()?), 9),
            0xd0 => (Self::Number(i8::from_be_bytes(first(rest)?).into()), 2),
            0xd1 => (Self::Number(i16::from_be_bytes(first(rest)?).into()), 3),
            0xd2 => (Self::Number(i32::from_be_bytes(first(rest)?).into()), 5),
            0xd3 => (Self::Number(i64::from_be_bytes(first(rest)?)), 9),
            0xd9 => (Self::Text(u8::from_be_bytes(first(rest)?).into()), 2),
            0xda => (Self::Text(u16::from_be_bytes(first(rest)?).into()), 3),
            0xdb => (Self::Text(u32::from_be_bytes(first(rest)?).try_into().ok()?), 5),
            0xdc => (Self::Array(u16::from_be_bytes(first(rest)?).into()), 3),
            0xdd => (Self::Array(u32::from_be_bytes(first(rest)?).try_into().ok()?), 5),
            0xe0..=0xff => (Self::Number(i8::from_be_bytes([kind]).into()), 1),
            _ => return None,
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "that is what Redis does with a number of Lua")]
    const fn of_float(number: f64) -> Self {
        Self::Number(number as i64)
    }
}

fn first<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn packed(bytes: &[u8]) -> Option<PackedArray> {
        PackedArray::read(Bytes::copy_from_slice(bytes))
    }

    /// The array as text.
    fn shown(array: &mut PackedArray) -> String {
        let members = std::iter::from_fn(|| {
            Some(match array.next()? {
                Packed::Number(number) => number.to_string(),
                Packed::Text(text) => format!("{:?}", String::from_utf8_lossy(&text)),
                Packed::Array(mut array) => shown(&mut array),
            })
        });
        format!("[{}]", members.collect::<Vec<_>>().join(","))
    }

    #[test]
    fn members_are_read_in_their_order() {
        let mut array = packed(b"\x95\xa2ab\x92\x07\x91\xa0\xff\xd9\x01c\xcd\x01\x00").unwrap();
        assert!(array.begins_with("ab") && !array.begins_with("a") && array.len() == 5);
        assert_eq!(shown(&mut array), r#"["ab",[7,[""]],-1,"c",256]"#);
        assert!(array.next().is_none() && array.len() == 0 && !array.begins_with(""));
    }

    #[test]
    fn numbers_have_every_size() {
        let numbers = [
            &b"\x91\xcc\xff"[..],
            b"\x91\xcd\xff\xff",
            b"\x91\xce\xff\xff\xff\xff",
            b"\x91\xcf\x7f\xff\xff\xff\xff\xff\xff\xff",
            b"\x91\xd0\x80",
            b"\x91\xd1\x80\x00",
            b"\x91\xd2\x80\x00\x00\x00",
            b"\x91\xd3\x80\x00\x00\x00\x00\x00\x00\x00",
            b"\x91\xca\x40\x20\x00\x00",
            b"\x91\xcb\x40\x04\x00\x00\x00\x00\x00\x00",
        ];
        let read: Vec<String> = numbers.iter().map(|number| shown(&mut packed(number).unwrap())).collect();
        let expected = [255, 65_535, 4_294_967_295, i64::MAX, -128, -32_768, i32::MIN.into(), i64::MIN, 2, 2];
        assert_eq!(read, expected.map(|number| format!("[{number}]")));
        assert!(packed(b"\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff").is_none(), "larger than any that we write");
    }

    #[test]
    fn texts_and_arrays_have_every_size() {
        let text = "x".repeat(70_000);
        for (head, length) in
            [(&b"\x91\xd9\xff"[..], 255), (b"\x91\xda\xff\xff", 65_535), (b"\x91\xdb\x00\x01\x11\x70", 70_000)]
        {
            let mut array = packed(&[head, &text.as_bytes()[..length]].concat()).unwrap();
            assert_eq!(shown(&mut array), format!("[\"{}\"]", &text[..length]));
        }
        for (head, length) in [(&b"\xdc\xff\xff"[..], 65_535), (b"\xdd\x00\x01\x11\x70", 70_000)] {
            assert_eq!(packed(&[head, &vec![7; length]].concat()).unwrap().len(), length);
        }
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let whole = b"\x94\xa2ab\x92\x07\x91\xa0\xcd\x01\x00\xd9\x01c";
        assert!(packed(whole).is_some());
        for end in 0..whole.len() {
            assert!(packed(&whole[..end]).is_none(), "{end}");
        }
        assert!(packed(&[whole, &b"\x00"[..]].concat()).is_none());
        let deep = [[0x91; MAX_DEPTH + 1].as_slice(), &[0x07]].concat();
        assert!(packed(&deep).is_none() && packed(&deep[1..]).is_some());
        for other in [&b"\x07"[..], b"\xa1a", b"\x91\xc0", b"\x91\xc3", b"\x91\x80", b"\xdd\xff\xff\xff\xff\x00"] {
            assert!(packed(other).is_none(), "{other:?}");
        }
    }
}
