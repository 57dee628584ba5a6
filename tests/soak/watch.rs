//! Measurements of a bystander during each phase: the time of a small call and of `/healthz`, and
//! the memory of the gateways.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use support::usage;
use support::wire::head;

use crate::Run;
use crate::fleet::Site;
use crate::tally::NO_ANSWER;

/// Time between two calls of a bystander.
const CALL_EVERY: Duration = Duration::from_millis(15);

/// Time between two looks at the health and the memory.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The measurements of the phases of one kind.
#[derive(Default)]
pub(crate) struct Seen {
    /// The times of a bystander's calls at the gateways that the phase is about.
    calls: Mutex<Vec<Duration>>,
    worst_health: AtomicU64,
    peak_mb: AtomicU64,
}

impl Seen {
    /// The number of a bystander's calls, and the time that 99 of 100 did not exceed.
    pub(crate) fn calls(&self) -> (usize, Duration) {
        let mut calls = self.calls.lock().clone();
        calls.sort_unstable();
        (calls.len(), calls.get(calls.len() * 99 / 100).copied().unwrap_or_default())
    }

    /// The longest time of `/healthz`.
    pub(crate) fn worst_health(&self) -> Duration {
        Duration::from_micros(self.worst_health.load(Ordering::Relaxed))
    }

    /// The most memory of a gateway, in MB.
    pub(crate) fn peak_mb(&self) -> u64 {
        self.peak_mb.load(Ordering::Relaxed)
    }
}

/// Starts to watch every gateway.
pub(crate) fn start<'scope>(scope: &'scope Scope<'scope, '_>, run: &'scope Run) {
    for (index, site) in run.fleet.sites.iter().enumerate() {
        scope.spawn(move || {
            let call = head("/connectors/liar/version", 2) + "{}";
            watch(run, site, "bystander", &call, CALL_EVERY, |seen, is_concerned, time| {
                if is_concerned(index) {
                    seen.calls.lock().push(time);
                }
            });
        });
        scope.spawn(move || {
            let health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
            watch(run, site, "/healthz", health, LOOK_EVERY, |seen, _, time| {
                let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
                seen.worst_health.fetch_max(time, Ordering::Relaxed);
            });
        });
    }
    scope.spawn(|| {
        while !run.is_over() {
            let resident = run.fleet.sites.iter().filter_map(Site::process).filter_map(usage::resident_mb).max();
            run.phase().seen.peak_mb.fetch_max(resident.unwrap_or_default(), Ordering::Relaxed);
            thread::sleep(LOOK_EVERY);
        }
    });
}

/// Sends a request again and again on its own connection.
fn watch(
    run: &Run,
    site: &Site,
    load: &'static str,
    request: &str,
    every: Duration,
    note: impl Fn(&Seen, &dyn Fn(usize) -> bool, Duration),
) {
    let mut stream = None;
    while !run.is_over() {
        let phase = run.phase();
        let began = Instant::now();
        match exchange(&site.address, request, &mut stream) {
            Some(status) => {
                note(&phase.seen, &|index| phase.concerns(index), began.elapsed());
                let starts = status == "503" && site.killed.affects(began);
                run.tally.note(load, &status, status == "200" || starts, || site.name.to_owned());
            }
            None => {
                stream = None;
                let expected = site.killed.affects(began);
                run.tally.note(load, NO_ANSWER, expected, || format!("{} after {:?}", site.name, began.elapsed()));
            }
        }
        thread::sleep(every);
    }
}

/// Sends a request and reads the whole answer, on the connection of the exchange before if there is
/// one. Returns the status, or `None` if the connection broke.
fn exchange(address: &str, request: &str, kept: &mut Option<TcpStream>) -> Option<String> {
    if kept.is_none() {
        *kept = Some(TcpStream::connect(address.trim_start_matches("http://")).ok()?);
    }
    let stream = kept.as_mut()?;
    stream.write_all(request.as_bytes()).ok()?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        answer.extend(&piece[..length]);
        let Some(end) = answer.windows(4).position(|end| end == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&answer[..end]).to_lowercase();
        let field = text.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        if answer.len() >= end + 4 + field.trim().parse::<usize>().ok()? {
            return text.split(' ').nth(1).map(str::to_owned);
        }
    }
}
