//! Releases memory that only the start needs.
//!
//! **Code**, a third of what an idle process uses: the kernel maps code in pieces of 64 KiB when it first runs, and
//! keeps it mapped. Released code that runs again is mapped from the file again.
//!
//! **What is freed meanwhile**, such as the configuration as it was read: the allocator returns it later, when more is
//! freed; in an idle process nothing is.

use std::ffi::c_long;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use std::{fs, io, ptr};

use nix::sys::mman::{MmapAdvise, madvise};

use crate::background;

/// mimalloc's `purge_delay`, which its crate has no name for: after how many ms it returns what was freed.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
/// What it has by default: under load it costs less to keep it for a while.
const USUAL_DELAY: c_long = 1000;
/// Not 0: a processor that starts before a full bucket is under load at once, and would return the memory of each call
/// and get it again.
const DELAY_AT_START: c_long = 10;

/// After the role is ready: connections are made and everything has run once.
const SETTLED: Duration = Duration::from_secs(1);

/// From now on what is freed is returned soon.
pub(crate) fn begin() {
    return_freed_after(DELAY_AT_START);
}

/// Once the start is over.
pub(crate) fn end_later() {
    background::spawn(async {
        tokio::time::sleep(SETTLED).await;
        return_freed_after(USUAL_DELAY);
        if let Err(error) = release() {
            tracing::debug!(%error, "could not release the memory of the start-up code");
        }
    });
}

#[expect(unsafe_code, reason = "no library offers this call as a safe one")]
fn return_freed_after(ms: c_long) {
    // SAFETY: it writes a number that the allocator reads whole, and which it may read before or after.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, ms) }
}

/// # Errors
/// When the kernel doesn't report where the code is, or keeps it.
fn release() -> io::Result<()> {
    let program = fs::read_link("/proc/self/exe")?;
    for code in code_of(&program, &fs::read_to_string("/proc/self/maps")?) {
        unmap(&code)?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "no library offers this call as a safe one")]
fn unmap(code: &Range<usize>) -> io::Result<()> {
    let Some(first) = ptr::NonNull::new(ptr::with_exposed_provenance_mut(code.start)) else { return Ok(()) };
    // SAFETY: nobody can write there, so that every page is as in the file, from which it comes back when it is used.
    unsafe { madvise(first, code.len(), MmapAdvise::MADV_DONTNEED) }.map_err(io::Error::from)
}

/// Where the code of `program` is, by the lines of `/proc/self/maps`: `first-end r-xp offset device inode path`.
fn code_of(program: &Path, maps: &str) -> Vec<Range<usize>> {
    maps.lines().filter_map(|line| code_in(program, line)).collect()
}

fn code_in(program: &Path, line: &str) -> Option<Range<usize>> {
    let (range, rest) = line.split_once(" r-xp ")?;
    // A path may have spaces in it.
    let path = &rest[rest.find('/')?..];
    let (first, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    (Path::new(path) == program).then_some(number(first)?..number(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options have numbers: a version of the allocator that counts them in another way has another value here.
    #[test]
    #[expect(unsafe_code, reason = "no library offers this call as a safe one")]
    fn the_option_is_the_one_that_is_meant() {
        // SAFETY: it reads a number.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }, USUAL_DELAY);
    }

    #[test]
    fn only_code_of_the_program_that_nobody_can_write_is_let_go() {
        let maps = "\
            1000-3000 r--p 00000000 fe:00 326426                     /a b/dripfeed\n\
            3000-9f00 r-xp 00002000 fe:00 326426                     /a b/dripfeed\n\
            a000-b000 rwxp 00009000 fe:00 326426                     /a b/dripfeed\n\
            c000-d000 r-xp 00000000 fe:00 1                          /usr/lib/libc.so.6\n\
            d000-e000 r-xp 00000000 00:00 0                          [vdso]\n\
            e000-f000 r-xp 0000a000 fe:00 326426                     /a b/dripfeed\n";
        assert_eq!(code_of(Path::new("/a b/dripfeed"), maps), [0x3000..0x9f00, 0xe000..0xf000]);
    }
}
