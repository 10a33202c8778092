//! Finds the globals that a Lua text uses, in the bytecode of Redis' own compiler (`string.dump`, Lua 5.1).

/// A name that a text uses and that isn't a local.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Global {
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) written: bool,
}

#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) globals: Vec<Global>,
    /// The locals that following texts can use.
    pub(super) locals: Vec<String>,
}

/// The header of a 64-bit build, with the sizes of an int, a size, an instruction and a number.
const HEADER: [u8; 12] = *b"\x1bLua\x51\x00\x01\x04\x08\x04\x08\x00";
const GETGLOBAL: u32 = 5;
const SETGLOBAL: u32 = 7;

pub(super) fn read(dump: &[u8]) -> Chunk {
    let rest = dump.strip_prefix(&HEADER).expect("a dump of Lua 5.1");
    let (mut reader, mut chunk) = (Reader(rest), Chunk::default());
    chunk.locals = function(&mut reader, &mut chunk.globals);
    assert!(reader.0.is_empty(), "a dump is one function");
    chunk
}

/// Adds the globals of a function and its inner functions to `globals`. Returns the names of its locals.
fn function(reader: &mut Reader<'_>, globals: &mut Vec<Global>) -> Vec<String> {
    reader.text();
    let [_first_line, _last_line] = [reader.number(), reader.number()];
    reader.bytes(4);
    let code = reader.list(Reader::number);
    let constants = reader.list(|reader| match reader.bytes(1)[0] {
        0 => String::new(),
        1 => String::from_utf8_lossy(reader.bytes(1)).into_owned(),
        3 => String::from_utf8_lossy(reader.bytes(8)).into_owned(),
        4 => reader.text(),
        kind => panic!("a constant of kind {kind}"),
    });
    reader.list(|reader| function(reader, globals));
    let lines = reader.list(Reader::number);
    for (instruction, line) in code.into_iter().zip(lines) {
        let operation = instruction & 0x3f;
        if [GETGLOBAL, SETGLOBAL].contains(&operation) {
            let name = constants[usize::try_from(instruction >> 14).expect("an index")].clone();
            globals.push(Global { name, line, written: operation == SETGLOBAL });
        }
    }
    let locals = reader.list(|reader| {
        let name = reader.text();
        let [_from, _to] = [reader.number(), reader.number()];
        name
    });
    reader.list(Reader::text);
    locals
}

struct Reader<'d>(&'d [u8]);

impl<'d> Reader<'d> {
    fn bytes(&mut self, count: usize) -> &'d [u8] {
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes(4).try_into().expect("four bytes"))
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.number()).map(|_| read(self)).collect()
    }

    /// A text, preceded by its length, and terminated by zero.
    fn text(&mut self) -> String {
        let length = u64::from_le_bytes(self.bytes(8).try_into().expect("eight bytes"));
        let text = self.bytes(usize::try_from(length).expect("a length"));
        String::from_utf8_lossy(text.strip_suffix(b"\0").unwrap_or_default()).into_owned()
    }
}
