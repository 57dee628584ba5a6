//! The memory, CPU time, descriptors and threads of a process, from `/proc`.

use std::fs;

/// The most memory that a process has used, in MB.
///
/// # Panics
/// When the process has ended.
pub fn peak_mb(process: u32) -> u64 {
    status(process, "VmHWM:") >> 10
}

/// The memory that a process uses now, in MB; `None` if it has ended.
pub fn resident_mb(process: u32) -> Option<u64> {
    try_status(process, "VmRSS:").map(|kilobytes| kilobytes >> 10)
}

/// Number of threads of a process.
///
/// # Panics
/// When the process has ended.
pub fn threads(process: u32) -> u64 {
    status(process, "Threads:")
}

/// The niceness of each thread of a process, by the name of the thread.
///
/// # Panics
/// When the process has ended.
pub fn niceness(process: u32) -> Vec<(String, i32)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("stat")).ok());
    let read = |stat: String| {
        // The name is in parentheses. Niceness is the 17th field after it.
        let (name, fields) = stat.rsplit_once(") ")?;
        let niceness = fields.split(' ').nth(16)?.parse().ok()?;
        Some((name.split_once('(')?.1.to_owned(), niceness))
    };
    stats.filter_map(read).collect()
}

/// Number of processes that a process has started and that still run.
///
/// # Panics
/// When the process has ended.
pub fn children(process: u32) -> usize {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).ok());
    lists.map(|list| list.split_whitespace().count()).sum()
}

/// Number of open file descriptors of a process.
///
/// # Panics
/// When the process has ended.
pub fn descriptors(process: u32) -> u64 {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count() as u64
}

/// CPU time that a process has used, in milliseconds.
///
/// # Panics
/// When the process has ended.
pub fn cpu_ms(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name before the parenthesis may have blanks. User time and system time are the 12th and
    // 13th field behind it, in hundredths of a second.
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
}

fn status(process: u32, name: &str) -> u64 {
    try_status(process, name).unwrap_or_else(|| panic!("process {process} has no `{name}`"))
}

fn try_status(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
