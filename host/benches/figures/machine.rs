//! Facts about processes and about the machine, read from `/proc`.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::settings::Outcome;

/// Clock ticks in a second in `/proc`. Linux uses this constant on every common architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time of a process and its children, in seconds.
pub(crate) fn cpu_seconds(pid: u32) -> Outcome<f64> {
    let mut ticks = stat(pid)?.cpu_ticks;
    for entry in fs::read_dir("/proc")? {
        let Some(other) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end before it is read.
        if let Ok(stat) = stat(other)
            && stat.parent == pid
        {
            ticks += stat.cpu_ticks;
        }
    }
    Ok(ticks as f64 / TICKS_PER_SECOND)
}

/// Enough file descriptors for 10,000 calls, each with a connection to an upstream.
const DESCRIPTORS: u64 = 65_536;

/// Raises the limit of open file descriptors for this process and its children as far as the system
/// permits. Returns the limit.
pub(crate) fn raise_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // Only root may raise the maximum.
    let enough = limit.maximum.map(|maximum| maximum.max(DESCRIPTORS));
    if setrlimit(Resource::Nofile, Rlimit { current: enough, maximum: enough }).is_err() {
        // If this fails, the limit stays as it is, and the result says so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

struct Stat {
    parent: u32,
    cpu_ticks: u64,
    /// CPU time of children that have ended and were waited for.
    former_children_ticks: u64,
}

fn stat(pid: u32) -> Outcome<Stat> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in parentheses, which may contain any character. State
    // and parent follow it.
    let fields: Vec<&str> =
        line.rsplit_once(')').ok_or("/proc/PID/stat does not have the expected form")?.1.split(' ').collect();
    let field = |index: usize| fields.get(index).ok_or("/proc/PID/stat has fewer fields than expected");
    let ticks = |user: usize, system: usize| Outcome::Ok(field(user)?.parse::<u64>()? + field(system)?.parse::<u64>()?);
    Ok(Stat { parent: field(2)?.parse()?, cpu_ticks: ticks(12, 13)?, former_children_ticks: ticks(14, 15)? })
}

/// CPU time of this process's children that have ended, in seconds.
pub(crate) fn former_children_seconds() -> Outcome<f64> {
    Ok(stat(std::process::id())?.former_children_ticks as f64 / TICKS_PER_SECOND)
}

/// CPU time of this thread, in seconds. It does not count the time in which other processes have
/// the processor.
pub(crate) fn own_thread_seconds() -> Outcome<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}

/// Resident memory of a process, its own and shared, in bytes.
pub(crate) fn resident_bytes(pid: u32) -> Outcome<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the process has no memory")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024.0)
}

/// Number of open connections to a port of loopback.
pub(crate) fn connections_to(port: u16) -> Outcome<f64> {
    let is_to = |line: &&str| {
        // The fields are a number, the local and the remote address, and the state: `01` is open.
        let fields: Vec<&str> = line.split_whitespace().collect();
        matches!(fields.as_slice(), [_, _, remote, "01", ..] if remote.ends_with(&format!(":{port:04X}")))
    };
    Ok(fs::read_to_string("/proc/net/tcp")?.lines().filter(is_to).count() as f64)
}

/// Number of processors that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One line about the machine, because every absolute figure depends on it.
pub(crate) fn facts() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model =
        cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("?", |it| it.1);
    let meminfo = read("/proc/meminfo");
    let memory = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    let gigabytes = memory.and_then(|kilobytes| kilobytes.parse::<f64>().ok()).map_or(0.0, |kilobytes| kilobytes / 1e6);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    format!("{} × {model}, {gigabytes:.0} GB, Linux {}; load average {load}, this run included", cores(), kernel.trim())
}
