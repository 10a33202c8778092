//! As much of RESP as it takes to know where a command and its answer end.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

pub(super) struct Command {
    pub(super) words: Vec<Vec<u8>>,
    /// As they came.
    pub(super) bytes: Vec<u8>,
}

fn broken(what: &[u8]) -> Error {
    Error::new(ErrorKind::InvalidData, format!("no RESP: {}", what.escape_ascii()))
}

/// What stands behind the sign of a line, as a number; −1 for nothing.
fn count(line: &[u8]) -> Result<i64> {
    let digits = line.get(1..).and_then(|rest| std::str::from_utf8(rest).ok());
    digits.and_then(|digits| digits.trim_end().parse().ok()).ok_or_else(|| broken(line))
}

/// A line with its end. Empty: the connection has ended.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).await?;
    Ok(line)
}

/// So many bytes, and the end of the line.
async fn bulk(from: &mut (impl AsyncBufRead + Unpin), length: i64) -> Result<Vec<u8>> {
    let Ok(length) = usize::try_from(length) else { return Ok(Vec::new()) };
    let mut bytes = vec![0; length + 2];
    from.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// None: the client has gone.
pub(super) async fn read_command(from: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Command>> {
    let head = line(from).await?;
    if head.is_empty() {
        return Ok(None);
    }
    let (mut words, mut bytes) = (Vec::new(), head.clone());
    for _ in 0..count(&head)? {
        let size = line(from).await?;
        let mut word = bulk(from, count(&size)?).await?;
        bytes.extend([&size[..], &word[..]].concat());
        word.truncate(word.len() - 2);
        words.push(word);
    }
    Ok(Some(Command { words, bytes }))
}

/// One answer, whole, and what Redis says beside it.
pub(super) async fn read_reply(from: &mut (impl AsyncBufRead + Unpin)) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Values that are still to come before the answer is whole.
    let mut wanted = 1;
    while wanted > 0 {
        let line = line(from).await?;
        bytes.extend_from_slice(&line);
        wanted -= 1;
        match line.first() {
            Some(b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(') => {}
            Some(b'$' | b'=' | b'!') => bytes.extend(bulk(from, count(&line)?).await?),
            Some(b'*' | b'~') => wanted += count(&line)?.max(0),
            Some(b'%') => wanted += 2 * count(&line)?,
            // Said beside an answer, which is still to come.
            Some(b'>') => wanted += count(&line)? + 1,
            Some(b'|') => wanted += 2 * count(&line)? + 1,
            None => return Err(ErrorKind::UnexpectedEof.into()),
            Some(_) => return Err(broken(&line)),
        }
    }
    Ok(bytes)
}
