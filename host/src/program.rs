//! The program's own code in memory.

use std::ffi::c_void;
use std::ptr::from_ref;

use rustix::mm::{Advice, madvise};

#[expect(unsafe_code, reason = "the linker defines these two, and the language has no name for them")]
unsafe extern "C" {
    /// The first byte of the program.
    static __executable_start: u8;
    /// The byte behind its code.
    static etext: u8;
}

/// Gives the memory of the program's code and constants back to the operating system, which reads what is used again from its page
/// cache. To be called after the start: most of the code that a start runs is not run again, and would stay in memory as long as
/// the gateway.
#[expect(unsafe_code, reason = "the system call can discard any memory")]
pub fn give_back_code() {
    // SAFETY: only the addresses of the two are used.
    let (start, end) = unsafe { (from_ref(&__executable_start).addr(), from_ref(&etext).addr()) };
    let page = rustix::param::page_size();
    let length = end.saturating_sub(start) / page * page;
    // SAFETY: the linker lays these pages out before everything that the process writes to, so all of them are as in the program's
    // file. The kernel maps them again at the next use.
    let given = unsafe { madvise(start as *mut c_void, length, Advice::LinuxDontNeed) };
    if let Err(error) = given {
        tracing::debug!(%error, "the memory of the program's code could not be given back");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The memory of mapped files that this process has, in kilobytes.
    fn of_files() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn code_that_was_run_takes_no_memory_and_runs_again() {
        let before = of_files();
        give_back_code();
        let after = of_files();
        assert!(after < before, "{after} kB of {before} kB are left");
    }
}
