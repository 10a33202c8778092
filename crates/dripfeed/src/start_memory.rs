//! Releases memory that is only needed at the start.
//!
//! **Code** is a third of the memory of an idle process: the kernel maps it in pieces of 64 KiB when it first runs, and
//! keeps it mapped. Released code that runs again is mapped from the file again.
//!
//! **Freed memory**, such as that of the configuration file: the allocator returns it to the system later, when more is
//! freed, which doesn't happen in an idle process.

use std::ffi::c_long;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use std::{fs, io, ptr};

use nix::sys::mman::{MmapAdvise, madvise};

use crate::background;

/// mimalloc's `purge_delay`, after how many ms freed memory is returned to the system. Its crate has no name for it.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
/// mimalloc's default. Under load it is cheaper to keep freed memory for a while.
const DEFAULT_DELAY: c_long = 1000;
/// Not 0: a processor that starts with a full bucket is under load at once, and would return and get the memory of each
/// call.
const DELAY_AT_START: c_long = 10;

/// How long after readiness the start is over: connections are open, and all code of the role has run once.
const SETTLED: Duration = Duration::from_secs(1);

/// Returns freed memory to the system soon, until [`end_later`].
pub(crate) fn begin() {
    set_purge_delay(DELAY_AT_START);
}

/// Restores the default delay and releases code, once the start is over.
pub(crate) fn end_later() {
    background::spawn(async {
        tokio::time::sleep(SETTLED).await;
        set_purge_delay(DEFAULT_DELAY);
        if let Err(error) = release() {
            tracing::debug!(%error, "could not release the memory of the start-up code");
        }
    });
}

#[expect(unsafe_code, reason = "no library offers this call as a safe one")]
fn set_purge_delay(ms: c_long) {
    // SAFETY: sets an integer that the allocator reads atomically, at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, ms) }
}

/// # Errors
/// When the kernel doesn't show the mappings of the code, or doesn't release one.
fn release() -> io::Result<()> {
    let program = fs::read_link("/proc/self/exe")?;
    for code in code_ranges(&program, &fs::read_to_string("/proc/self/maps")?) {
        unmap(&code)?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "no library offers this call as a safe one")]
fn unmap(code: &Range<usize>) -> io::Result<()> {
    let Some(first) = ptr::NonNull::new(ptr::with_exposed_provenance_mut(code.start)) else { return Ok(()) };
    // SAFETY: the range isn't writable, so all pages are as in the file, and are read from it again when used.
    unsafe { madvise(first, code.len(), MmapAdvise::MADV_DONTNEED) }.map_err(io::Error::from)
}

/// The addresses of the code of `program`. Lines of `/proc/self/maps` are `first-end r-xp offset device inode path`.
fn code_ranges(program: &Path, maps: &str) -> Vec<Range<usize>> {
    maps.lines().filter_map(|line| code_range(program, line)).collect()
}

fn code_range(program: &Path, line: &str) -> Option<Range<usize>> {
    let (range, rest) = line.split_once(" r-xp ")?;
    // Not the last word, as a path may contain spaces.
    let path = &rest[rest.find('/')?..];
    let (first, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    (Path::new(path) == program).then_some(number(first)?..number(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options are identified by number: another version of the allocator may number them differently.
    #[test]
    #[expect(unsafe_code, reason = "no library offers this call as a safe one")]
    fn the_option_is_the_one_that_is_meant() {
        // SAFETY: reads an integer.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }, DEFAULT_DELAY);
    }

    #[test]
    fn only_read_only_code_of_the_program_is_released() {
        let maps = "\
            1000-3000 r--p 00000000 fe:00 326426                     /a b/dripfeed\n\
            3000-9f00 r-xp 00002000 fe:00 326426                     /a b/dripfeed\n\
            a000-b000 rwxp 00009000 fe:00 326426                     /a b/dripfeed\n\
            c000-d000 r-xp 00000000 fe:00 1                          /usr/lib/libc.so.6\n\
            d000-e000 r-xp 00000000 00:00 0                          [vdso]\n\
            e000-f000 r-xp 0000a000 fe:00 326426                     /a b/dripfeed\n";
        assert_eq!(code_ranges(Path::new("/a b/dripfeed"), maps), [0x3000..0x9f00, 0xe000..0xf000]);
    }
}
