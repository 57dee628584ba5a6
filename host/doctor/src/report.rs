//! The findings.

use std::borrow::Cow;

use contract::words::one_line;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// It was checked and is good.
    Ok,
    /// Someone may want to act.
    Note,
    /// Someone must act. The command fails.
    Problem,
}

impl Level {
    const ALL: [Self; 3] = [Self::Ok, Self::Note, Self::Problem];

    /// The name in answers and in the output of the command.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }

    /// The level with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The check that it belongs to.
    pub check: Cow<'static, str>,
    /// A sentence that says what was found.
    pub text: String,
    /// The action for the operator. Empty if nothing has to be done.
    pub action: String,
}

/// All findings, in the order of the checks.
#[derive(Clone, Debug, Default)]
pub struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// Adds a check that found nothing wrong.
    pub fn ok(&mut self, check: &'static str, text: impl Into<String>) {
        self.add(Level::Ok, check, text, "");
    }

    /// Adds a finding that does not make the command fail.
    pub fn note(&mut self, check: &'static str, text: impl Into<String>, action: impl Into<String>) {
        self.add(Level::Note, check, text, action);
    }

    /// Adds a finding that makes the command fail.
    pub fn problem(&mut self, check: &'static str, text: impl Into<String>, action: impl Into<String>) {
        self.add(Level::Problem, check, text, action);
    }

    /// Adds a finding.
    pub fn add(
        &mut self,
        level: Level,
        check: impl Into<Cow<'static, str>>,
        text: impl Into<String>,
        action: impl Into<String>,
    ) {
        // A reason may have texts that a module or a service chose.
        let [text, action] = [text.into(), action.into()].map(|text| one_line(&text).into_owned());
        self.findings.push(Finding { level, check: check.into(), text, action });
    }

    /// The findings.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The number of problems.
    pub fn problems(&self) -> usize {
        self.findings.iter().filter(|finding| finding.level == Level::Problem).count()
    }
}
