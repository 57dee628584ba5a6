//! Notices that an author saves a source or a recording.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::recordings;

/// A build begins when nothing has changed for this time. Editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(100);

/// Folders that tools fill, and the folder of recordings, which no build depends on. The name of a
/// hidden folder begins with a dot.
const TOOL_FOLDERS: [&str; 6] = ["target", "node_modules", "venv", "dist", "__pycache__", recordings::FOLDER];

/// Files that a build writes next to the sources.
const BUILT: [&str; 2] = ["wasm", "pyc"];

/// The lock file is not watched, because the first build writes it. A later build finds its
/// changes.
const LOCK_FILE: &str = "Cargo.lock";

/// The kind of a file that an author has saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Saved {
    /// A file in the folder of recordings, or the folder.
    Recording,
    /// A file that a build may depend on. Recordings may have changed too.
    Source,
}

/// The sources and the recordings of a project.
pub(super) struct Sources {
    folder: PathBuf,
    /// The folder that the tools build into, if it is another one than `target`.
    built: Option<PathBuf>,
    watcher: RecommendedWatcher,
    changed: UnboundedReceiver<Vec<PathBuf>>,
}

impl Sources {
    /// Begins to watch the folder of a project, without the folder `built` that its tools build into.
    pub(super) fn watch(folder: &Path, built: Option<PathBuf>) -> notify::Result<Self> {
        let (sender, changed) = unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event
                && !event.kind.is_access()
            {
                // This fails only when the command ends.
                let _ = sender.send(event.paths);
            }
        })?;
        let mut sources = Self { folder: folder.to_owned(), built, watcher, changed };
        sources.add(folder)?;
        Ok(sources)
    }

    /// Waits until a source or a recording has changed, and then until nothing changes for [`QUIET`].
    pub(super) async fn changed(&mut self) -> Saved {
        let mut saved: Option<Saved> = None;
        loop {
            let next = match saved {
                None => self.changed.recv().await,
                Some(saved) => match timeout(QUIET, self.changed.recv()).await {
                    Ok(next) => next,
                    Err(_) => return saved,
                },
            };
            let Some(paths) = next else { return std::future::pending().await };
            for path in paths {
                if let Some(kind) = self.kind(&path) {
                    saved = saved.max(Some(kind));
                    // It may be a new folder. If it was removed already, there is nothing to watch.
                    let _ = self.add(&path);
                }
            }
        }
    }

    /// The kind of a file or folder. `None` if it is not watched.
    fn kind(&self, path: &Path) -> Option<Saved> {
        if is_recording(&self.folder, path) {
            return Some(Saved::Recording);
        }
        let is_built = self.built.as_ref().is_some_and(|built| path.starts_with(built));
        (is_source(&self.folder, path) && !is_built).then_some(Saved::Source)
    }

    /// Watches a folder with the folders below it. Does nothing for a file.
    fn add(&mut self, folder: &Path) -> notify::Result<()> {
        if !fs::symlink_metadata(folder)?.is_dir() {
            return Ok(());
        }
        self.watcher.watch(folder, RecursiveMode::NonRecursive)?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if self.kind(&path).is_some() {
                self.add(&path)?;
            }
        }
        Ok(())
    }
}

/// `true` if a build may depend on the file or folder by its name.
fn is_source(project: &Path, path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(project) else { return false };
    let is_of_tool = |name: &str| name.starts_with('.') || TOOL_FOLDERS.contains(&name) || name == LOCK_FILE;
    let is_built = path.extension().and_then(|extension| extension.to_str()).is_some_and(|name| BUILT.contains(&name));
    !is_built && inside.iter().all(|part| part.to_str().is_some_and(|name| !is_of_tool(name)))
}

/// `true` if the path is the one of the folder of recordings, or of a recording in it.
fn is_recording(project: &Path, path: &Path) -> bool {
    let folder = project.join(recordings::FOLDER);
    path == folder || (path.parent() == Some(folder.as_path()) && recordings::is_recording(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tools_are_no_sources() {
        let project = Path::new("/home/ann/.work/words");
        for source in ["src/lib.rs", "Cargo.toml", "connector.py", "tables/target.rs"] {
            assert!(is_source(project, &project.join(source)), "{source}");
        }
        for other in [
            "target/x/y.rs",
            "node_modules/a.js",
            "recordings/define.json",
            "venv/b.py",
            ".git/HEAD",
            "words.wasm",
            "Cargo.lock",
            "a/__pycache__/c",
        ] {
            assert!(!is_source(project, &project.join(other)), "{other}");
        }
        assert!(!is_source(project, Path::new("/home/ann/.work/other/src/lib.rs")));
    }

    #[tokio::test]
    async fn a_saved_recording_is_noticed_and_is_no_source() {
        let project = tempfile::tempdir().unwrap();
        let folder = project.path().canonicalize().unwrap();
        let mut sources = Sources::watch(&folder, None).unwrap();
        let recordings = folder.join(recordings::FOLDER);
        fs::create_dir(&recordings).unwrap();
        assert_eq!(sources.changed().await, Saved::Recording);
        fs::write(recordings.join("issue.json"), "one").unwrap();
        assert_eq!(sources.changed().await, Saved::Recording);
        for (path, is_watched) in [
            ("recordings/issue.json", true),
            ("recordings/.issue.json.swp", false),
            ("recordings/notes.txt", false),
            ("recordings/old/issue.json", false),
            ("other/recordings/issue.json", false),
        ] {
            let expected = is_watched.then_some(Saved::Recording);
            assert_eq!(sources.kind(&folder.join(path)), expected, "{path}");
        }
        // A recording that is saved with a source does not hide it.
        assert_eq!(Some(Saved::Source).max(Some(Saved::Recording)), Some(Saved::Source));
    }

    #[tokio::test]
    async fn a_saved_file_is_noticed_also_in_a_new_folder() {
        let project = tempfile::tempdir().unwrap();
        let folder = project.path().canonicalize().unwrap();
        fs::create_dir(folder.join("target")).unwrap();
        let mut sources = Sources::watch(&folder, Some(folder.join("out"))).unwrap();
        fs::create_dir(folder.join("src")).unwrap();
        sources.changed().await;
        fs::write(folder.join("src/lib.rs"), "one").unwrap();
        sources.changed().await;
        // On a busy machine, the system may tell of the last step of a change later than of the others.
        let mut times = 0;
        while timeout(QUIET * 3, sources.changed()).await.is_ok() {
            times += 1;
            assert!(times < 10, "a change is noticed again and again");
        }
        fs::write(folder.join("target/built"), "one").unwrap();
        fs::create_dir(folder.join("out")).unwrap();
        fs::write(folder.join("out/built"), "one").unwrap();
        fs::write(folder.join("words.wasm"), "one").unwrap();
        assert!(timeout(QUIET * 3, sources.changed()).await.is_err());
    }
}
