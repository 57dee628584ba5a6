//! Processes that always end: when the [`Process`] is dropped, and when the program that started it
//! is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::{MAX_WAIT, wait_for};

/// Time between two looks at whether a process has ended while its lines are waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Limit of a command that a test waits for, which may build a connector on a busy machine.
const MAX_RUN: Duration = Duration::from_secs(1800);

/// The gateway's binary: the one that the variable `GATEWAY_BINARY` names, or the one of the build
/// profile that this program was built in. Cargo puts this program into the folder of that profile
/// too, or into `deps` below it.
///
/// # Panics
/// When the binary is missing.
pub fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("GATEWAY_BINARY") {
        return named.into();
    }
    let own = std::env::current_exe().unwrap();
    let binary =
        own.ancestors().skip(1).take(2).map(|folder| folder.join("connector-gateway")).find(|path| path.is_file());
    binary.unwrap_or_else(|| {
        panic!("there is no connector-gateway next to {}; build it in the same profile with cargo build", own.display())
    })
}

/// The result of a command that has run to its end.
pub struct Finished {
    /// Exit code; `None` if a signal ended the command.
    pub code: Option<i32>,
    /// Text that it wrote to standard output.
    pub stdout: String,
    /// Text that it wrote to standard error.
    pub stderr: String,
}

/// Runs a command and waits for its end.
///
/// # Panics
/// When it cannot be started, or does not end within half an hour.
#[track_caller]
pub fn run(command: &mut Command) -> Finished {
    finish(command.stdin(Stdio::null()), "")
}

/// As [`run`], for a command that reads this text from its standard input.
///
/// # Panics
/// When it cannot be started, does not take the text, or does not end within half an hour.
#[track_caller]
pub fn run_with_input(command: &mut Command, input: &str) -> Finished {
    finish(command.stdin(Stdio::piped()), input)
}

#[track_caller]
fn finish(command: &mut Command, input: &str) -> Finished {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().expect("the binary runs");
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).expect("the command reads its input");
    }
    let group = process_id(&child);
    let (ended, end) = mpsc::channel::<()>();
    // The group's processes hold the pipes of the output.
    let limit = thread::spawn(move || {
        let late = end.recv_timeout(MAX_RUN) == Err(mpsc::RecvTimeoutError::Timeout);
        late && kill_process_group(group, Signal::KILL).is_ok()
    });
    let output = child.wait_with_output().expect("the binary runs");
    drop(ended);
    assert!(!limit.join().unwrap(), "it did not end within {} s: {command:?}", MAX_RUN.as_secs());
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Writes a program that can be run. Another process writes it: if this one did, a thread that
/// starts a process at that moment would leave it the open file, and the program could not be run
/// until that process has replaced itself ("text file busy").
///
/// # Panics
/// When it cannot be written.
#[track_caller]
pub fn write_program(path: &Path, text: &str) {
    let mut write = Command::new("sh");
    write.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(path);
    let finished = run_with_input(&mut write, text);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

/// Copies a program to a place where it is run. See [`write_program`].
///
/// # Panics
/// When it cannot be copied.
#[track_caller]
pub fn copy_program(from: &Path, to: &Path) {
    let finished = run(Command::new("cp").arg(from).arg(to));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

/// The same command, started by a line of shell in which `"$0" "$@"` is the command.
pub fn in_shell(line: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}

/// A running process and the lines that it writes.
pub struct Process {
    child: Child,
    /// Ends the process if this program is killed and cannot drop the [`Process`].
    guard: Child,
    output: Arc<Output>,
    readers: Vec<thread::JoinHandle<()>>,
}

/// Lines of both output streams, in the order of their arrival.
#[derive(Default)]
struct Output {
    lines: Mutex<Vec<String>>,
    grown: Condvar,
}

impl Process {
    /// Starts a process and collects its lines. The process gets its own process group, so that its
    /// children end with it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        // The guard's input closes when this program ends in any way. The guard then ends the
        // process group by its id. The guard has its own group too, because an interrupt from the
        // terminal must not end it first.
        let guard = Command::new("sh")
            .args(["-c", "read -r _; kill -s KILL -- \"-$1\" 2>/dev/null", "guard", &child.id().to_string()])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the system has a shell");
        let output = Arc::new(Output::default());
        let readers = [
            child.stdout.take().map(|stream| collect(stream, &output)),
            child.stderr.take().map(|stream| collect(stream, &output)),
        ];
        Self { child, guard, output, readers: readers.into_iter().flatten().collect() }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// All lines so far, of both output streams, in the order of their arrival.
    pub fn lines(&self) -> Vec<String> {
        self.output.lines.lock().clone()
    }

    /// Waits until a gateway logs its address, which it does before it has loaded its modules, and
    /// returns its URL.
    ///
    /// # Panics
    /// When no line has the address for four minutes.
    #[track_caller]
    pub fn logged_address(&self) -> String {
        let listen = wait_for("the address", || {
            let lines = self.lines();
            let logged = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            logged.filter_map(|line| line["listen"].as_str().map(str::to_owned)).next()
        });
        format!("http://{listen}")
    }

    /// Waits for the first line that begins with `prefix`, and returns the rest of that line.
    ///
    /// # Panics
    /// When the process ends without writing such a line, or does not write it for four minutes.
    #[track_caller]
    pub fn wait_for_line(&mut self, prefix: &str) -> String {
        let deadline = Instant::now() + MAX_WAIT;
        let output = Arc::clone(&self.output);
        let mut lines = output.lines.lock();
        loop {
            if let Some(rest) = lines.iter().find_map(|line| line.strip_prefix(prefix)) {
                return rest.to_owned();
            }
            if let Some(status) = self.ended() {
                panic!("the process ended with {status} before it wrote `{prefix}`:\n{}", lines.join("\n"));
            }
            assert!(Instant::now() < deadline, "the process did not write `{prefix}`:\n{}", lines.join("\n"));
            output.grown.wait_for(&mut lines, LOOK_AGAIN);
        }
    }

    /// The exit status if the process has ended, else `None`.
    ///
    /// # Panics
    /// When the system cannot tell.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Asks the process to end (SIGTERM) and does not wait.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn ask_to_end(&self) {
        kill_process(self.pid(), Signal::TERM).expect("the process is running");
    }

    /// Sends the signal of a terminal that is closed (SIGHUP) and does not wait.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn hang_up(&self) {
        kill_process(self.pid(), Signal::HUP).expect("the process is running");
    }

    /// Lets the process stand still (SIGSTOP), as on a machine that hangs. Its connections stay.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn stand_still(&self) {
        kill_process(self.pid(), Signal::STOP).expect("the process is running");
    }

    /// Lets the process run again after it has stood still (SIGCONT).
    ///
    /// # Panics
    /// When it has ended already.
    pub fn go_on(&self) {
        kill_process(self.pid(), Signal::CONT).expect("the process is running");
    }

    /// Waits for the end of the process. All its lines are there afterwards.
    ///
    /// # Panics
    /// When it does not end within four minutes.
    pub fn wait(&mut self) -> ExitStatus {
        let status = wait_for("the process to end", || self.ended());
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        status
    }

    /// Kills the process (SIGKILL), as a crash would, and does not wait.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn kill(&self) {
        kill_process(self.pid(), Signal::KILL).expect("the process is running");
    }

    fn pid(&self) -> Pid {
        process_id(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guard ends first: once the process is gone, its id may belong to another process.
        // Each of the two may have ended already, so errors are ignored.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process_group(self.pid(), Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn process_id(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().unwrap()).unwrap()
}

fn collect(stream: impl Read + Send + 'static, output: &Arc<Output>) -> thread::JoinHandle<()> {
    let output = Arc::clone(output);
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            output.lines.lock().push(text);
            output.grown.notify_all();
            line.clear();
        }
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_process_and_its_children_end_with_the_program_that_started_it() {
        let mut process = Process::start(Command::new("sh").args(["-c", "sleep 600 & echo started; wait"]));
        process.wait_for_line("started");
        // The system closes this pipe when the program ends.
        drop(process.guard.stdin.take());
        let status = wait_for("the process to end", || process.ended());
        assert_eq!(status.signal(), Some(9));
        // The child holds the pipe of the output until it ends too.
        wait_for("the child to end", || process.readers.iter().all(|reader| reader.is_finished()).then_some(()));
    }
}
