//! The report about a module, for people and for programs.

use std::fmt;

use connector_gateway::Connector;
use connector_gateway::records::InstalledRecord;
use serde::Serialize;

use super::difference;
use super::summary::Summary;
use contract::Answer;

/// The description of a module and of what it asks for.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) summary: Summary,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    rate_limits: Vec<RateLimit>,
    operations: Vec<Operation>,
    /// `true` if the module would replace a connector that came with the gateway.
    pub(super) replaces_shipped: bool,
    /// The changes since the previous version, if there is one.
    since: Option<Since>,
    /// Advice for its author.
    pub(super) notes: Vec<String>,
    /// The command that adds the module with everything that it asks for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) command: String,
}

#[derive(Debug, Serialize)]
struct RateLimit {
    name: String,
    requests: u32,
    period_s: u32,
}

#[derive(Debug, Serialize)]
struct Operation {
    operation: String,
    summary: String,
    effect: &'static str,
    answer: &'static str,
    background: bool,
    immediate: bool,
    /// Its request, or `code`.
    sends: String,
    paged: bool,
    rate_limit: Option<String>,
}

/// The changes since a version.
#[derive(Debug, Serialize)]
struct Since {
    version: String,
    sha256: String,
    /// Permissions that the previous version does not ask for.
    asks_for: Vec<String>,
    changes: Vec<String>,
}

impl Report {
    /// The report about a connector, without the results of the check.
    pub(super) fn new(connector: &Connector) -> Self {
        let manifest = connector.manifest();
        Self {
            summary: InstalledRecord::from(connector).into(),
            description: manifest.description.clone(),
            rate_limits: manifest.rate_limits.iter().map(rate_limit).collect(),
            operations: connector.operations().map(operation).collect(),
            replaces_shipped: false,
            since: None,
            notes: Vec::new(),
            command: String::new(),
        }
    }

    /// Adds the changes since the previous version.
    pub(super) fn compare(&mut self, previous: &Connector, now: &Connector) {
        self.since = Some(Since {
            version: previous.manifest().version.clone(),
            sha256: previous.digest().to_owned(),
            asks_for: if previous.is_shipped() { Vec::new() } else { now.permissions_beyond(previous) },
            changes: difference::between(previous, now),
        });
    }

    /// `true` if the module asks for more than the previous version.
    pub(super) fn asks_for_more(&self) -> bool {
        self.since.as_ref().is_some_and(|since| !since.asks_for.is_empty())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.summary)?;
        let width = self.operations.iter().map(|operation| operation.operation.len()).max().unwrap_or_default();
        for operation in &self.operations {
            let Operation { operation: name, effect, summary, sends, .. } = operation;
            writeln!(out, "    {effect:<11} {name:<width$}  {summary}{}", traits(operation))?;
            writeln!(out, "                {sends}")?;
        }
        for RateLimit { name, requests, period_s } in &self.rate_limits {
            writeln!(out, "  limit       `{name}`: {requests} calls in {period_s} s")?;
        }
        if let Some(Since { version, asks_for, changes, .. }) = &self.since {
            writeln!(out, "  changes     since {version}, the previous version")?;
            for change in changes {
                writeln!(out, "    {change}")?;
            }
            for ask in asks_for {
                writeln!(out, "  + {ask} (the previous version does not ask for it; add it with --accept)")?;
            }
        }
        for note in &self.notes {
            writeln!(out, "  note        {note}")?;
        }
        if self.replaces_shipped {
            writeln!(
                out,
                "  replaces    the connector that came with the gateway (add the module with --replace-shipped)"
            )?;
        }
        if self.command.is_empty() {
            return writeln!(out, "  shipped     this module came with the gateway");
        }
        let reason = if self.summary.misses_hosts() { "to grant" } else { "to add" };
        writeln!(out, "  {reason:<11} {}", self.command)
    }
}

/// Properties of an operation in addition to its effect, in brackets.
fn traits(operation: &Operation) -> String {
    let mut traits = Vec::new();
    if operation.answer != "json" {
        traits.push(format!("answers {}", operation.answer));
    }
    if operation.background {
        traits.push("background".to_owned());
    }
    if operation.paged {
        traits.push("paged".to_owned());
    }
    traits.extend(operation.rate_limit.as_ref().map(|name| format!("limit `{name}`")));
    if traits.is_empty() { String::new() } else { format!(" ({})", traits.join(", ")) }
}

fn rate_limit(limit: &contract::RateLimit) -> RateLimit {
    RateLimit { name: limit.name.clone(), requests: limit.requests, period_s: limit.period_seconds }
}

fn operation(described: &connector_gateway::Operation) -> Operation {
    let operation = &described.manifest;
    Operation {
        operation: operation.path.clone(),
        summary: operation.summary.clone(),
        effect: operation.effect.name(),
        answer: match operation.answer {
            Answer::Json => "json",
            Answer::File => "file",
            Answer::Any => "any",
        },
        background: operation.background,
        immediate: operation.immediate,
        sends: described.sends(),
        paged: operation.pagination.is_some(),
        rate_limit: operation.rate_limit.clone(),
    }
}
