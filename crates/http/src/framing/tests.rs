#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n";

/// Checks that the result doesn't depend on how the bytes are split.
fn follow(text: &str) -> Result<Next, InvalidFraming> {
    let whole = |bytes: &[u8]| {
        let mut framing = Framing::new();
        framing.follow(bytes).map(|()| framing.next)
    };
    let byte_by_byte = |bytes: &[u8]| {
        let mut framing = Framing::new();
        for (at, byte) in bytes.iter().enumerate() {
            let followed = framing.follow(std::slice::from_ref(byte));
            followed.map_err(|invalid| InvalidFraming { valid: at + invalid.valid, ..invalid })?;
        }
        Ok(framing.next)
    };
    let read = whole(text.as_bytes());
    assert_eq!(byte_by_byte(text.as_bytes()), read, "{text:?}");
    read
}

fn passes(text: &str) {
    assert_eq!(follow(text), Ok(Next::RequestLine), "{text:?}");
    let twice = text.repeat(2);
    assert_eq!(follow(&twice), Ok(Next::RequestLine), "{twice:?}");
}

/// The last LF of `text` must be refused.
#[track_caller]
fn is_refused(text: &str, part: RequestPart) {
    let invalid = InvalidFraming { valid: text.rfind('\n').unwrap(), part };
    assert_eq!(follow(text), Err(invalid), "{text:?}");
    let before = format!("{GET}Content-Length: 2\r\n\r\nxy");
    let later = format!("{before}{text}{GET}\r\n");
    let valid = before.len() + invalid.valid;
    assert_eq!(follow(&later), Err(InvalidFraming { valid, part }), "{later:?}");
}

#[test]
fn valid_framing_passes() {
    passes("");
    passes("\r\n");
    passes("GET / HTTP/1.0\r\n\r\n");
    passes(&format!("{GET}\r\n"));
    passes(&format!("{GET}X:\r\nX: \t\"a:b\" \u{e9}\t \r\n\r\n"));
    passes(&format!("{GET}Content-Length: 0\r\n\r\n"));
    passes(&format!("{GET}content-LENGTH:\t003 \r\n\r\n\r\n\n"));
    passes(&format!("{GET}Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"));
    passes(&format!(
        "{GET}Transfer-Encoding: chunked\r\n\r\n00a;x=\"y\"\r\n0123456\r\n\0\r\n2 ;x\r\n\r\n\r\n000\r\n\r\n"
    ));
    passes(&format!("{GET}Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\nZ:\r\n\r\n"));
}

#[test]
fn a_connections_first_head_and_one_that_has_begun_are_awaited() {
    let mut framing = Framing::new();
    let mut awaited_after = |text: String| {
        framing.follow(text.as_bytes()).unwrap();
        framing.awaited_head()
    };
    assert_eq!(awaited_after(String::new()), Some(0));
    assert_eq!(awaited_after("\r\n".to_owned()), Some(0));
    assert_eq!(awaited_after(GET.to_owned()), Some(0));
    assert_eq!(awaited_after("\r\n".to_owned()), None);
    assert_eq!(awaited_after("\r\n".to_owned()), None);
    assert_eq!(awaited_after("G".to_owned()), Some(1));
    assert_eq!(awaited_after(format!("{}Content-Length: 2\r\n\r\nx", &GET[1..])), None);
    assert_eq!(awaited_after(format!("y{GET}\r\nGE")), Some(3));
}

#[test]
fn an_incomplete_request_is_awaited() {
    assert_eq!(follow(&format!("{GET}Content-Length: 3\r\n\r\nx")), Ok(Next::Body(2)));
    assert_eq!(follow(&format!("{GET}Transfer-Encoding: chunked\r\n\r\nff\r\nx")), Ok(Next::Chunk(254)));
    assert_eq!(follow(&format!("{GET}Transfer-Encoding: chunked\r\n\r\nf")), Ok(Next::ChunkSize));
    assert_eq!(follow("GET / HTTP/9"), Ok(Next::RequestLine));
}

#[test]
fn an_ambiguous_head_is_refused() {
    for lines in [
        "\n",
        "GET / HTTP/1.1\n",
        "GET /\r\n",
        "GET / HTTP/2.0\r\n",
        "GET  / HTTP/1.1\r\n",
        "GET / HTTP/1.1 \r\n",
        "GET\t/\tHTTP/1.1\r\n",
        "GET / HTTP/1.1\r\n\r\n",
    ] {
        is_refused(lines, RequestPart::Head);
    }
    for fields in [
        "\n",
        "X: y\n",
        "X: y\r\r\n",
        "X: y\rZ: z\r\n",
        "X: a\0b\r\n",
        "X: a\x07b\r\n",
        "X: a\x7fb\r\n",
        "X : y\r\n",
        "X\t: y\r\n",
        " X: y\r\n",
        "\tfolded\r\n",
        ": y\r\n",
        "X\r\n",
        "Host: x\r\n",
        "Content-Length:\r\n",
        "Content-Length: +1\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x1\r\n",
        "Content-Length: 1 1\r\n",
        "Content-Length: 1, 1\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: 1\r\nX: y\r\nCONTENT-LENGTH: 2\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding:\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
    ] {
        is_refused(&format!("{GET}{fields}"), RequestPart::Head);
    }
    is_refused("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", RequestPart::Head);
}

#[test]
fn ambiguous_chunks_are_refused() {
    for chunks in [
        "\r\n",
        "\n",
        "nope\r\n",
        "0x1\r\n",
        "+1\r\n",
        "-1\r\n",
        " 1\r\n",
        "1 1\r\n",
        "1 \r\n",
        "1,\r\n",
        "1\n",
        "10000000000000000\r\n",
        "1;x\n",
        "1;x\0\r\n",
        "1;\rx\r\n",
        "1\r\nxyz\r\n",
        "1\r\nx\n",
        "0\n",
        "0\r\n\n",
        "0\r\nX: y\n",
        "0\r\nX : y\r\n",
        "0\r\n folded\r\n",
        "0\r\nGET / HTTP/1.1\r\n",
    ] {
        is_refused(&format!("{GET}Transfer-Encoding: chunked\r\n\r\n{chunks}"), RequestPart::Body);
    }
}

#[test]
fn an_endless_line_is_refused() {
    let mut framing = Framing::new();
    let many = vec![b'x'; PARSED_BYTES];
    assert_eq!(framing.follow(&many), Ok(()));
    assert_eq!(framing.follow(b"xy"), Err(InvalidFraming { valid: 0, part: RequestPart::Head }));
}
