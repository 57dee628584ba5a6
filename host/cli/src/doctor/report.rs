//! The findings.

use std::io;

use authoring::output::{print, print_json};
use contract::words::one_line;
use serde_json::json;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// It was checked and is good.
    Ok,
    /// Someone may want to act.
    Note,
    /// Someone must act. The command fails.
    Problem,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// One finding.
#[derive(Clone, Debug)]
struct Finding {
    level: Level,
    /// The check that it belongs to.
    check: &'static str,
    text: String,
    /// The action for the operator. Empty if nothing has to be done.
    action: String,
}

/// All findings, in the order of the checks.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// Adds a check that found nothing wrong.
    pub(super) fn ok(&mut self, check: &'static str, text: impl Into<String>) {
        self.add(Level::Ok, check, text.into(), String::new());
    }

    /// Adds a finding that does not make the command fail.
    pub(super) fn note(&mut self, check: &'static str, text: impl Into<String>, action: impl Into<String>) {
        self.add(Level::Note, check, text.into(), action.into());
    }

    /// Adds a finding that makes the command fail.
    pub(super) fn problem(&mut self, check: &'static str, text: impl Into<String>, action: impl Into<String>) {
        self.add(Level::Problem, check, text.into(), action.into());
    }

    fn add(&mut self, level: Level, check: &'static str, text: String, action: String) {
        // A reason may have texts that a module or a service chose.
        let [text, action] = [text, action].map(|text| one_line(&text).into_owned());
        self.findings.push(Finding { level, check, text, action });
    }

    /// The number of problems.
    pub(super) fn problems(&self) -> usize {
        self.findings.iter().filter(|finding| finding.level == Level::Problem).count()
    }

    /// Prints the findings.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn print(&self, as_json: bool) -> io::Result<()> {
        if as_json {
            let findings = self.findings.iter().map(|Finding { level, check, text, action }| {
                json!({"level": level.name(), "check": check, "finding": text, "action": action})
            });
            let findings: Vec<_> = findings.collect();
            return print_json(format_args!("{:#}", json!({"problems": self.problems(), "findings": findings})));
        }
        for Finding { level, check, text, action } in &self.findings {
            print(format_args!("{:8} {check:13} {text}", level.name()))?;
            if !action.is_empty() {
                print(format_args!("{:22} To do: {action}", ""))?;
            }
        }
        Ok(())
    }
}
