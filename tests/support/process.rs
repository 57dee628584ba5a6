//! A process that surely ends: when it is dropped, and when the test that started it is killed.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::wait_for;

/// The gateway's binary: beside this one, as both are built into one folder.
///
/// # Panics
/// When it is missing.
pub fn binary() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let binary =
        own.ancestors().skip(1).take(2).map(|folder| folder.join("connector-gateway")).find(|path| path.is_file());
    binary.unwrap_or_else(|| panic!("connector-gateway is not beside {}; `make build` builds it", own.display()))
}

/// A command of the gateway that runs to its end.
pub struct Finished {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// Runs the gateway's binary with arguments and variables, and waits for its end.
///
/// # Panics
/// When it cannot be run.
pub fn run(command: &mut Command) -> Finished {
    let output = command.stdin(Stdio::null()).output().expect("the binary runs");
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A process under way, with the lines it writes.
pub struct Process {
    child: Child,
    /// Ends the process when this one is gone, however it went.
    guard: Child,
    lines: Arc<Mutex<Vec<String>>>,
    readers: Vec<thread::JoinHandle<()>>,
}

impl Process {
    /// Starts it, and gathers what it writes.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        // Waits for its input to close, which happens when this process ends in any way, and ends the other one by its id.
        let guard = Command::new("sh")
            .args(["-c", "read -r _; kill -9 \"$1\" 2>/dev/null", "guard", &child.id().to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .expect("the system has a shell");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let readers = [
            child.stdout.take().map(|stream| gather(stream, &lines)),
            child.stderr.take().map(|stream| gather(stream, &lines)),
        ];
        Self { child, guard, lines, readers: readers.into_iter().flatten().collect() }
    }

    /// All lines so far, those of both streams in the order they came.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Whether it has ended, and how.
    ///
    /// # Panics
    /// When the system does not say.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Asks it to end (SIGTERM), and does not wait.
    ///
    /// # Panics
    /// When it is gone already.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it goes on.
    pub fn wait(&mut self) -> ExitStatus {
        let status = wait_for("the process to end", || self.ended());
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        status
    }

    /// Ends it at once (SIGKILL), as a crash would, and does not wait.
    ///
    /// # Panics
    /// When it is gone already.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).expect("the process is there");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guard first: it would else aim at an id that may be another's by then. Both may be gone already, which is as well.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn gather(stream: impl Read + Send + 'static, lines: &Arc<Mutex<Vec<String>>>) -> thread::JoinHandle<()> {
    let lines = Arc::clone(lines);
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            lines.lock().unwrap().push(text);
            line.clear();
        }
    })
}
