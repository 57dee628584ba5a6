//! A reader who does what a page says: outside of the source tree, with an empty home folder, and
//! with the tools that this machine has.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::process::{self, Process};
use support::registry::Registry;
use support::upstream::free_port;
use support::{Workshop, module, wait_at_most};

use super::archive::Archive;
use super::page::{self, Block, Kind};
use super::programs;

/// Time for lines in the other terminal. To build and to compile a module may take minutes on a
/// busy machine.
const MAX_WAIT: Duration = Duration::from_secs(900);
/// Ports that pages name. Each stands for a free one.
const PORTS: [&str; 3] = ["8080", "8081", "8900"];
/// The port of the registry of modules.
const REGISTRY_PORT: &str = "5000";

/// The folder of the project that pages make.
const PROJECT: &str = "dictionary";

pub(super) struct Reader {
    page: &'static str,
    folder: PathBuf,
    archive: Archive,
    /// Variables with the folders of tools, which are in the home folder of whoever runs the tests.
    tools: Vec<(&'static str, String)>,
    ports: BTreeMap<&'static str, String>,
    /// The other terminals, the newest last, each with the number of its lines that were read.
    background: Vec<(Process, usize)>,
    /// The output of the last commands.
    output: String,
    _registry: Option<Registry>,
    workshop: Workshop,
}

impl Reader {
    pub(super) fn new(page: &'static str) -> Self {
        let workshop = Workshop::enter();
        // The same folders for every page, because Cargo builds the SDK again if its path changes.
        let tree = module::root().canonicalize().unwrap().display().to_string();
        let outside = std::env::temp_dir().join(format!("connector-gateway{}", tree.replace('/', "-")));
        let folder = outside.join(workshop.own("page"));
        let _ = fs::remove_dir_all(&folder);
        for inner in [".bin", ".home"] {
            fs::create_dir_all(folder.join(inner)).unwrap();
        }
        let archive = Archive::unpack(&outside.join(workshop.own("archive")));
        symlink(archive.folder().join("connector-gateway"), folder.join(".bin/connector-gateway")).unwrap();
        programs::add(&folder.join(".bin"));
        fs::write(folder.join(".state"), "").unwrap();
        let mut ports: BTreeMap<_, _> = PORTS.map(|port| (port, free_port().to_string())).into();
        let registry = page::text(page).contains(REGISTRY_PORT).then(Registry::start);
        ports.extend(registry.iter().map(|registry| (REGISTRY_PORT, registry.port().to_owned())));
        let (background, output) = (Vec::new(), String::new());
        Self { page, folder, archive, tools: tools(), ports, background, output, _registry: registry, workshop }
    }

    pub(super) fn follow(mut self) {
        for block in page::read(self.page) {
            match &block.kind {
                Kind::Commands { background: false, made: false } => self.run(&block),
                Kind::Commands { background: true, .. } => {
                    let commands = self.replaced(&block.text);
                    let process = Process::start(&mut self.shell(&format!("exec 2>&1\n{commands}")));
                    self.background.push((process, 0));
                }
                Kind::Commands { made: true, .. } => {}
                Kind::Output { background: false } => self.compare(&block),
                Kind::Output { background: true } => self.wait_for(&block),
                Kind::File(path) => {
                    let path = self.directory().join(path);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, self.replaced(&block.text)).unwrap();
                }
            }
        }
        self.archive.assert_unchanged(self.page);
    }

    /// The text with the ports of this reader.
    fn replaced(&self, text: &str) -> String {
        // In two steps, because a free port may contain the digits of another one.
        let marked = self.ports.keys().fold(text.to_owned(), |text, port| text.replace(port, &format!("\0{port}\0")));
        self.ports.iter().fold(marked, |text, (port, own)| text.replace(&format!("\0{port}\0"), own))
    }

    /// A shell in the present directory, with the variables and functions of the commands before.
    fn shell(&self, script: &str) -> Command {
        let path = format!("{}:{}", self.folder.join(".bin").display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &format!("source {:?}\nset -a\n{script}", self.folder.join(".state"))]);
        command.current_dir(&self.folder).env("PATH", path).env("ARCHIVE", self.archive.folder());
        command.envs(self.tools.iter().map(|(name, value)| (name, value))).env("HOME", self.folder.join(".home"));
        // Cargo has what the pages need. npm and pip load from their registries what their caches lack.
        command.env("CARGO_NET_OFFLINE", "true").env("npm_config_prefer_offline", "true");
        command
    }

    /// The present directory.
    fn directory(&self) -> PathBuf {
        let pwd = process::run(&mut self.shell("pwd"));
        PathBuf::from(pwd.stdout.trim())
    }

    #[track_caller]
    fn run(&mut self, block: &Block) {
        let state = self.folder.join(".state");
        let commands = self.replaced(&block.text);
        let script =
            format!("exec 2>&1\n{commands}\n{{ export -p; declare -f; printf 'cd %q\\n' \"$PWD\"; }} >{state:?}");
        let finished = process::run(&mut self.shell(&script));
        self.output = finished.stdout;
        assert_eq!(finished.code, Some(0), "{}:{}:\n{commands}\n{}", self.page, block.line, self.transcript());
        self.bring_what_was_built();
    }

    /// Gives a new project what Cargo has built for the one of an earlier page.
    fn bring_what_was_built(&self) {
        let target = self.folder.join(PROJECT).join("target");
        if self.folder.join(PROJECT).join("Cargo.toml").is_file() && !target.exists() {
            symlink(self.workshop.built(), target).unwrap();
        }
    }

    #[track_caller]
    fn compare(&self, block: &Block) {
        let expected = self.replaced(&block.text);
        let (expected, found): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), self.output.lines().collect());
        assert!(
            is_like(&expected, &found),
            "{}:{}: the page says\n{}\nand the commands printed\n{}",
            self.page,
            block.line,
            block.text,
            self.transcript()
        );
    }

    /// Waits until the other terminal has shown these lines, in this order, after those that were
    /// read before.
    #[track_caller]
    fn wait_for(&mut self, block: &Block) {
        let expected = self.replaced(&block.text);
        let (terminal, read) = self.background.last_mut().expect("a page starts another terminal before it shows it");
        for line in expected.lines() {
            let deadline = Instant::now() + MAX_WAIT;
            *read = wait_at_most(MAX_WAIT * 2, line, || {
                let lines = terminal.lines();
                let found = lines.iter().skip(*read).position(|found| is_same(line, found));
                let may_come = terminal.ended().is_none() && Instant::now() < deadline;
                let place = format!("{}:{}", self.page, block.line);
                assert!(found.is_some() || may_come, "{place}: `{line}` did not come:\n{}", lines.join("\n"));
                found.map(|found| *read + found + 1)
            });
        }
    }

    /// The output of the commands and of the other terminals.
    fn transcript(&self) -> String {
        let background = self
            .background
            .iter()
            .map(|(process, _)| format!("\nin another terminal:\n{}", process.lines().join("\n")));
        self.output.clone() + &background.collect::<String>()
    }
}

/// The folders of tools and their caches, which an empty home folder does not have.
pub(crate) fn tools() -> Vec<(&'static str, String)> {
    let home = std::env::var("HOME").unwrap_or_default();
    let own = |name: &str, folder: &str| std::env::var(name).unwrap_or_else(|_| format!("{home}/{folder}"));
    // A machine without one of the programs has no page to follow that calls it.
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let caches = [
        ("npm_config_cache", said("npm", &["config", "get", "cache"])),
        ("PIP_CACHE_DIR", said("python3", &["-m", "pip", "cache", "dir"])),
    ];
    let folders = [("CARGO_HOME", own("CARGO_HOME", ".cargo")), ("RUSTUP_HOME", own("RUSTUP_HOME", ".rustup"))];
    folders.into_iter().chain(caches.into_iter().filter_map(|(name, folder)| Some((name, folder?)))).collect()
}

/// Returns `true` if lines are those that the page shows.
fn is_like(expected: &[&str], found: &[&str]) -> bool {
    match expected {
        [] => found.is_empty(),
        ["…", rest @ ..] => (0..=found.len()).any(|skipped| is_like(rest, &found[skipped..])),
        [line, rest @ ..] => {
            found.split_first().is_some_and(|(first, others)| is_same(line, first) && is_like(rest, others))
        }
    }
}

/// Returns `true` if a line is the one that the page shows, with any text for each `…`.
pub(crate) fn is_same(expected: &str, found: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + str::len(part)..];
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[test]
fn a_line_is_compared_with_its_gaps() {
    for (expected, found) in [("a", "a"), ("a…", "abc"), ("…c", "abc"), ("a…c", "abc"), ("a…b…d", "aXbYbd"), ("…", "")]
    {
        assert!(is_same(expected, found), "{expected} {found}");
    }
    for (expected, found) in [("a", "ab"), ("…b", "bc"), ("a…c", "ab"), ("ab…b", "ab")] {
        assert!(!is_same(expected, found), "{expected} {found}");
    }
    assert!(is_like(&["a", "…", "c"], &["a", "b", "b", "c"]) && !is_like(&["a"], &["a", "b"]));
}
