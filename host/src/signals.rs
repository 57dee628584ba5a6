//! The signals that end the program.

use std::fs;
use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};

/// SIGTERM, SIGINT and SIGHUP, which a terminal sends when it is closed.
pub struct Stop {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    /// `None` if SIGHUP is ignored, as `nohup` requests.
    hangup: Option<unix::Signal>,
}

impl Stop {
    /// From now on, the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// If the operating system accepts no handler.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: if ignores(Signal::HUP) { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Waits for one of the signals.
    pub async fn wait(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Returns `true` if the process ignores this signal.
fn ignores(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status) >> (signal.as_raw() - 1) & 1 == 1
}

/// The signals that a process ignores, from its file `status`: the lowest bit is signal 1.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ignored_signals_are_those_of_the_mask() {
        assert_eq!(
            ignored("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n"),
            0x1001
        );
        assert_eq!(ignored(""), 0);
    }
}
