//! A process that was started here, and that surely ends: when it is dropped, and when this process is gone.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Outcome;

/// A process that has not said that it is ready after this long never will.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A process that was asked to end and has not after this long is killed.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A process under way.
pub(crate) struct Process {
    child: Child,
    /// Ends it when this process is gone without having dropped it.
    guard: Option<Child>,
}

impl Process {
    /// Starts it without waiting for anything.
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let child = command.stdin(Stdio::null()).spawn()?;
        let mut process = Self { child, guard: None };
        process.guard = Some(process.guard()?);
        Ok(process)
    }

    /// Starts it, and waits for the line that begins with `greeting`; gives back what follows there.
    pub(crate) fn start_until(command: &mut Command, greeting: &'static str) -> Outcome<(Self, String)> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take();
        let mut process = Self { child, guard: None };
        let (sender, receiver) = mpsc::channel();
        // Reads to the end, so that the process never waits for someone to take what it prints.
        thread::spawn(move || {
            for line in output.into_iter().flat_map(|output| BufReader::new(output).lines()).map_while(Result::ok) {
                if let Some(rest) = line.strip_prefix(greeting) {
                    // Said once more, it is of no interest.
                    let _ = sender.send(rest.to_owned());
                }
            }
        });
        let answer = receiver
            .recv_timeout(START_TIMEOUT)
            .map_err(|_| format!("{:?} did not start; it printed no `{greeting}…`", command.get_program()))?;
        process.guard = Some(process.guard()?);
        Ok((process, answer))
    }

    /// Its id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its input to close, which happens when this process ends in any way, and ends the other one by its id.
    fn guard(&self) -> Outcome<Child> {
        let script = "read -r _; kill \"$1\" 2>/dev/null";
        let guard = Command::new("sh")
            .args(["-c", script, "guard", &self.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(guard)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            // First of all: after this the id may come to be another process's.
            let _ = guard.kill();
            let _ = guard.wait();
        }
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::TERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < END_TIMEOUT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
