//! Tries recordings of notifications with the version that is live.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use connector_gateway::{AuthorSettings, Config, Connector};
use serde::de::IgnoredAny;

use super::print_line;
use crate::call::CallError;
use crate::module_file::{FileError, RefusedModule};
use crate::pushed::{Pushed, PushedError};
use crate::recordings;
use crate::scratch_registry::ScratchRegistry;
use contract::words::one_line;
use store::digest::sha256;

/// The recordings of notifications of a project.
pub(super) struct Pushes {
    project: PathBuf,
    config: Config,
    settings: AuthorSettings,
    /// The version that is live. `None` before the first one.
    live: Option<Version>,
    /// The digests of the recordings that were tried with the live version.
    tried: BTreeMap<PathBuf, [u8; 32]>,
}

/// A version of the connector. The gateway has loaded it too, but does not hand it out.
enum Version {
    /// It is loaded when a notification is tried, because most projects have none.
    Module(Vec<u8>),
    /// It is boxed, because a connector is large.
    Loaded(Box<Connector>),
    /// It cannot be loaded, and the author has read why.
    Failed,
}

/// A recording of a notification, or why it is none.
type Read = Result<Pushed, PushedError>;

impl Pushes {
    /// The recordings of a project, for a gateway with this configuration and these settings.
    pub(super) fn new(project: &Path, config: &Config, settings: &AuthorSettings) -> Self {
        let (config, settings) = (config.clone(), settings.clone());
        Self { project: project.to_owned(), config, settings, live: None, tried: BTreeMap::new() }
    }

    /// Notes the module that is live now. All notifications are tried again with it.
    pub(super) fn set_live(&mut self, module: Vec<u8>) {
        self.live = Some(Version::Module(module));
        self.tried.clear();
    }

    /// Tries the notifications that are new or changed since the live version has tried them, and
    /// prints the events that they carry. A mistake in a recording is printed too.
    pub(super) async fn try_changed(&mut self) {
        let Some(live) = &mut self.live else { return };
        let changed = match changed(&self.project, &mut self.tried) {
            Ok(changed) => changed,
            Err(error) => return say(error),
        };
        if let Version::Module(module) = live
            && changed.iter().any(|(_, read)| read.is_ok())
        {
            *live = match load(module, &self.config, &self.settings).await {
                Ok(connector) => Version::Loaded(Box::new(connector)),
                Err(error) => {
                    say(format_args!("The notifications in `{}` are not tried: {error}", recordings::FOLDER));
                    Version::Failed
                }
            };
        }
        for (name, read) in changed {
            match (read, &*live) {
                (Ok(pushed), Version::Loaded(connector)) => match pushed.shown(connector) {
                    Ok(lines) => lines.iter().for_each(|line| say(format_args!("{name}: {line}"))),
                    Err(error) => say(format_args!("{name}: {error}")),
                },
                (Ok(_), Version::Module(_) | Version::Failed) => {}
                (Err(error), _) => say(error),
            }
        }
    }
}

/// Loads a module as the gateway does. What the gateway has compiled is not compiled again.
async fn load(module: &[u8], config: &Config, settings: &AuthorSettings) -> Result<Connector, CallError> {
    let scratch = ScratchRegistry::without_grants(config).await?;
    let refused = |reason: String| RefusedModule { module: "module.wasm".to_owned(), reason };
    let connector = scratch.registry.try_out(module, settings).await;
    Ok(connector.map_err(|refusal| refused(refusal.to_string()))?)
}

/// The recordings of notifications that are new or changed since the last call, each with its name
/// in the project.
fn changed(project: &Path, tried: &mut BTreeMap<PathBuf, [u8; 32]>) -> Result<Vec<(String, Read)>, FileError> {
    let mut present = BTreeMap::new();
    let mut changed = Vec::new();
    for file in recordings::files(&project.join(recordings::FOLDER))? {
        let name = file.strip_prefix(project).unwrap_or(&file).to_owned();
        let text = match fs::read(&file) {
            Ok(text) => text,
            // It was removed a moment ago.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => {
                changed.push((name.display().to_string(), Err(FileError { file: name, source }.into())));
                continue;
            }
        };
        let digest = sha256(&text);
        if tried.get(&file) != Some(&digest)
            && let Some(read) = read(&text, &name).transpose()
        {
            changed.push((name.display().to_string(), read));
        }
        present.insert(file, digest);
    }
    *tried = present;
    Ok(changed)
}

/// The recording in a file. `None` if it is a recording of a call.
fn read(text: &[u8], name: &Path) -> Result<Option<Pushed>, PushedError> {
    // Nothing else would tell the author of a file that is no JSON, whatever it was meant to be.
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(json_text::without_mark(text)) {
        return Err(PushedError::Unreadable { file: name.display().to_string(), reason: error.to_string() });
    }
    Pushed::parse(text, name)
}

/// Prints a line with texts of a notification.
fn say(line: impl fmt::Display) {
    print_line(one_line(&line.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUSH: &str = r#"{"format": 1, "inbox": "hook", "push": {"headers": [], "body": ""}, "events": []}"#;

    #[test]
    fn a_notification_is_tried_again_only_if_its_recording_changes() {
        let project = tempfile::tempdir().unwrap();
        let mut tried = BTreeMap::new();
        let mut names = || -> Vec<(String, bool)> {
            let changed = changed(project.path(), &mut tried).unwrap();
            changed.into_iter().map(|(name, read)| (name, read.is_ok())).collect()
        };
        assert!(names().is_empty());
        let folder = project.path().join(recordings::FOLDER);
        fs::create_dir(&folder).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("call.json", r#"{"format": 1, "operation": "define"}"#);
        write("push.json", PUSH);
        write("notes.txt", PUSH);
        assert_eq!(names(), [("recordings/push.json".to_owned(), true)]);
        assert!(names().is_empty());
        write("push.json", &PUSH.replace("hook", "other"));
        assert_eq!(names(), [("recordings/push.json".to_owned(), true)]);
        write("push.json", "{");
        assert_eq!(names(), [("recordings/push.json".to_owned(), false)]);
        assert!(names().is_empty());
        fs::remove_file(folder.join("push.json")).unwrap();
        assert!(names().is_empty());
        write("push.json", "{");
        assert_eq!(names(), [("recordings/push.json".to_owned(), false)]);
    }

    #[test]
    fn a_file_that_is_no_recording_is_named() {
        let error = |text: &str| read(text.as_bytes(), Path::new("recordings/a.json")).unwrap_err().to_string();
        for (text, reason) in [("{", "EOF while parsing"), (r#"{"push": {}}"#, "missing field")] {
            let words = format!("`recordings/a.json` is no recording of a notification: {reason}");
            assert!(error(text).starts_with(&words), "{}", error(text));
        }
    }
}
