//! The report about a module, for people and for programs.

use std::fmt;

use serde::{Serialize, Serializer};

use super::difference;
use crate::registry::{Connector, Service};
use contract::{Answer, AuthScheme};
use sandbox::provenance::{Package, Provenance};

/// The description of a module and of its demands.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Report {
    connector: String,
    pub(in crate::cli) version: String,
    pub(in crate::cli) title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(in crate::cli) description: String,
    sha256: String,
    /// `None` if the module was not tried now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) module: Option<Module>,
    pub(in crate::cli) author: Option<String>,
    pub(in crate::cli) license: Option<String>,
    pub(in crate::cli) homepage: Option<String>,
    /// `None` if it is not signed.
    signature: Option<Signature>,
    /// The source that it says it was made of.
    #[serde(flatten, serialize_with = "of_making")]
    pub(super) provenance: Provenance,
    auth: &'static str,
    provider: Option<String>,
    scopes: Vec<String>,
    upstreams: Vec<Upstream>,
    granted_hosts: Vec<String>,
    missing_hosts: Vec<String>,
    rate_limits: Vec<RateLimit>,
    settings: Vec<Setting>,
    operations: Vec<Operation>,
    /// `true` if the module would take the place of a connector that came with the gateway.
    pub(super) replaces_shipped: bool,
    /// The changes since the version before, if there is one.
    since: Option<Since>,
    /// Advice for its author.
    pub(super) notes: Vec<String>,
    /// The command that adds the module with all that it asks for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) command: String,
}

/// The sizes of a module, and the time of its check.
#[derive(Debug, Serialize)]
pub(super) struct Module {
    pub(super) bytes: u64,
    pub(super) compiled_bytes: u64,
    /// Mostly compiling.
    pub(super) checked_in_ms: u64,
}

/// The signature of a module.
#[derive(Debug, Serialize)]
struct Signature {
    /// The id of the key, as minisign writes it.
    key: String,
    /// The publisher whose key it is. `None` if no publisher is known: then nobody has checked the signature.
    publisher: Option<String>,
}

#[derive(Debug, Serialize)]
struct Upstream {
    name: String,
    host: Option<String>,
    link_hosts: Vec<String>,
    credential: Option<Credential>,
}

#[derive(Debug, Serialize)]
struct Credential {
    r#in: &'static str,
    name: String,
}

#[derive(Debug, Serialize)]
struct RateLimit {
    name: String,
    requests: u32,
    period_s: u32,
}

#[derive(Debug, Serialize)]
struct Setting {
    name: String,
    default: Option<String>,
    documentation: String,
}

#[derive(Debug, Serialize)]
struct Operation {
    operation: String,
    summary: String,
    effect: &'static str,
    answer: &'static str,
    background: bool,
    immediate: bool,
    paged: bool,
    rate_limit: Option<String>,
}

/// The changes since a version.
#[derive(Debug, Serialize)]
struct Since {
    version: String,
    sha256: String,
    /// Permissions that the version before does not ask for.
    asks_for: Vec<String>,
    changes: Vec<String>,
}

impl Report {
    /// The report about a connector, without the facts of a trial.
    pub(in crate::cli) fn of(connector: &Connector) -> Self {
        let manifest = connector.manifest();
        let imprint = &manifest.imprint;
        let (provider, scopes) = match &manifest.auth {
            AuthScheme::Oauth2(scheme) => (Some(scheme.provider.clone()), scheme.scopes.clone()),
            AuthScheme::None | AuthScheme::ApiKey(_) => (None, Vec::new()),
        };
        let owned = |hosts: Vec<&str>| hosts.into_iter().map(str::to_owned).collect();
        Self {
            connector: manifest.identifier.clone(),
            version: manifest.version.clone(),
            title: manifest.title.clone(),
            description: manifest.description.clone(),
            sha256: connector.digest().to_owned(),
            module: None,
            author: imprint.author.clone(),
            license: Some(imprint.license.clone()).filter(|license| !license.is_empty()),
            homepage: imprint.homepage.clone(),
            signature: connector
                .signed()
                .map(|signed| Signature { key: signed.key_id.clone(), publisher: signed.publisher.clone() }),
            provenance: Provenance::default(),
            auth: manifest.auth.name(),
            provider,
            scopes,
            upstreams: connector.services().iter().map(upstream).collect(),
            granted_hosts: owned(connector.granted_hosts()),
            missing_hosts: owned(connector.missing_hosts()),
            rate_limits: manifest.rate_limits.iter().map(rate_limit).collect(),
            settings: manifest.settings.iter().map(setting).collect(),
            operations: connector.operations().map(|operation| self::operation(&operation.manifest)).collect(),
            replaces_shipped: false,
            since: None,
            notes: Vec::new(),
            command: String::new(),
        }
    }

    /// Adds the changes since the version before.
    pub(super) fn compare(&mut self, before: &Connector, now: &Connector) {
        self.since = Some(Since {
            version: before.manifest().version.clone(),
            sha256: before.digest().to_owned(),
            asks_for: if before.is_shipped() { Vec::new() } else { now.asks_beyond(before) },
            changes: difference::between(before, now),
        });
    }

    /// `true` if the module asks for more than the version before.
    pub(super) fn asks_for_more(&self) -> bool {
        self.since.as_ref().is_some_and(|since| !since.asks_for.is_empty())
    }

    /// The lines that are enough when a module is added.
    pub(in crate::cli) fn short(&self) -> impl fmt::Display {
        fmt::from_fn(|out| self.write_short(out))
    }

    fn write_short(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} {}: {}", self.connector, self.version, self.title)?;
        writeln!(out, "  sha256      {}", self.sha256)?;
        if let Some(Module { bytes, compiled_bytes, checked_in_ms }) = self.module {
            let (kb, compiled_kb) = (bytes.div_ceil(1000), compiled_bytes.div_ceil(1000));
            writeln!(out, "  size        {kb} kB, and {compiled_kb} kB compiled; checked in {checked_in_ms} ms")?;
        }
        let users = match self.auth {
            "oauth2" => format!("OAuth 2.0 of `{}`", self.provider.as_deref().unwrap_or_default()),
            "api_key" => "API key".to_owned(),
            _ => "no account".to_owned(),
        };
        writeln!(out, "  users       {users}")?;
        if !self.scopes.is_empty() {
            writeln!(out, "  scopes      {}", self.scopes.join(" "))?;
        }
        let Provenance { source, revision, packages } = &self.provenance;
        for (name, text) in [
            ("author", &self.author),
            ("license", &self.license),
            ("homepage", &self.homepage),
            ("source", source),
            ("revision", revision),
        ] {
            if let Some(text) = text {
                writeln!(out, "  {name:<11} {text}")?;
            }
        }
        if let Some(packages) = packages {
            writeln!(out, "  packages    made of {}, which --json lists", packages.len())?;
        }
        match &self.signature {
            None => writeln!(out, "  signature   not signed")?,
            Some(Signature { key, publisher: Some(publisher) }) => {
                writeln!(out, "  signature   by publisher `{publisher}`, with the key {key}")?;
            }
            Some(Signature { key, publisher: None }) => {
                writeln!(out, "  signature   with the key {key}, not checked: `[trust]` has no publishers")?;
            }
        }
        for Upstream { name, host, credential, .. } in &self.upstreams {
            let host = host.as_deref().unwrap_or("no address yet");
            let place = match credential {
                None => "none".to_owned(),
                Some(Credential { r#in, name }) => format!("{} `{name}`", r#in.replace('_', " ")),
            };
            writeln!(out, "  credential  upstream `{name}` ({host}): {place}")?;
        }
        for Setting { name, default, documentation } in &self.settings {
            let default = default.as_deref().map(|text| format!(", {text} unless it is set")).unwrap_or_default();
            let documentation = documentation.lines().next().unwrap_or_default();
            writeln!(out, "  setting     `{name}`{default}: {documentation}")?;
        }
        for host in &self.granted_hosts {
            writeln!(out, "  reaches     {host}")?;
        }
        for host in &self.missing_hosts {
            writeln!(out, "  asks for    {host} (not granted)")?;
        }
        writeln!(out, "  operations  {}", self.operations.len())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_short(out)?;
        let width = self.operations.iter().map(|operation| operation.operation.len()).max().unwrap_or_default();
        for operation in &self.operations {
            let Operation { operation: name, effect, summary, .. } = operation;
            writeln!(out, "    {effect:<11} {name:<width$}  {summary}{}", traits(operation))?;
        }
        for RateLimit { name, requests, period_s } in &self.rate_limits {
            writeln!(out, "  limit       `{name}`: {requests} calls in {period_s} s")?;
        }
        if let Some(Since { version, asks_for, changes, .. }) = &self.since {
            writeln!(out, "  changes     since {version}, the version before")?;
            for change in changes {
                writeln!(out, "    {change}")?;
            }
            for ask in asks_for {
                writeln!(out, "  + {ask} (the version before does not ask for it; add it with --accept)")?;
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
        let reason = if self.missing_hosts.is_empty() { "to add" } else { "to grant" };
        writeln!(out, "  {reason:<11} {}", self.command)
    }
}

/// The members of a report that say how the module was made.
fn of_making<S: Serializer>(provenance: &Provenance, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Members<'a> {
        source: &'a Option<String>,
        revision: &'a Option<String>,
        packages: &'a Option<Vec<Package>>,
    }
    let Provenance { source, revision, packages } = provenance;
    Members { source, revision, packages }.serialize(serializer)
}

/// Properties of an operation besides its effect, in brackets.
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

fn upstream(service: &Service) -> Upstream {
    let Service { name, host, link_hosts, credential } = service.clone();
    let credential = credential.map(|place| Credential { r#in: place.part, name: place.name });
    Upstream { name, host, link_hosts, credential }
}

fn rate_limit(limit: &contract::RateLimit) -> RateLimit {
    RateLimit { name: limit.name.clone(), requests: limit.requests, period_s: limit.period_seconds }
}

fn setting(setting: &contract::Setting) -> Setting {
    let contract::Setting { name, default, documentation, .. } = setting.clone();
    Setting { name, default, documentation }
}

fn operation(operation: &contract::Operation) -> Operation {
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
        paged: operation.pagination.is_some(),
        rate_limit: operation.rate_limit.clone(),
    }
}
