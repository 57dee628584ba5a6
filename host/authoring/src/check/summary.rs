//! The lines about a module that `connectors add` prints. The report of `connectors check` begins
//! with them.

use std::fmt;

use connector_gateway::records::{
    DeclaredInboxRecord, DeclaredTriggerRecord, InstalledRecord, SettingRecord, SignatureRecord, UpstreamRecord,
};
use serde::{Serialize, Serializer};

use sandbox::provenance::{Package, Provenance};

/// A module and what it asks for, in short.
#[derive(Debug, Serialize)]
pub struct Summary {
    connector: String,
    pub(crate) version: String,
    pub(crate) title: String,
    sha256: String,
    /// `None` if the module was not checked by this command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) module: Option<Module>,
    pub(crate) author: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) homepage: Option<String>,
    /// `None` if it is not signed, or its signature cannot be read.
    signature: Option<SignatureRecord>,
    /// The text that came as its signature is not a minisign signature.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) signature_unreadable: bool,
    /// The source that the module names.
    #[serde(flatten, serialize_with = "origin_members")]
    pub(super) provenance: Provenance,
    auth: String,
    provider: Option<String>,
    scopes: Vec<String>,
    upstreams: Vec<UpstreamRecord>,
    granted_hosts: Vec<String>,
    missing_hosts: Vec<String>,
    settings: Vec<SettingRecord>,
    inboxes: Vec<DeclaredInboxRecord>,
    triggers: Vec<DeclaredTriggerRecord>,
    /// The number of operations.
    #[serde(skip)]
    operations: usize,
}

/// The sizes of a module, and the time of its check.
#[derive(Debug, Serialize)]
pub(super) struct Module {
    pub(super) bytes: u64,
    pub(super) compiled_bytes: u64,
    /// Mostly compiling.
    pub(super) checked_in_ms: u64,
}

impl From<InstalledRecord> for Summary {
    fn from(installed: InstalledRecord) -> Self {
        let InstalledRecord { connector, signature, provider, scopes, settings, .. } = installed;
        Self {
            connector: connector.connector,
            version: connector.version,
            title: connector.title,
            sha256: connector.sha256,
            module: None,
            author: connector.imprint.author,
            license: Some(connector.imprint.license).filter(|license| !license.is_empty()),
            homepage: connector.imprint.homepage,
            signature,
            signature_unreadable: false,
            provenance: Provenance::default(),
            auth: connector.auth_type,
            provider,
            scopes,
            upstreams: connector.upstreams,
            granted_hosts: connector.hosts.granted,
            missing_hosts: connector.hosts.missing,
            settings,
            inboxes: connector.inboxes,
            triggers: connector.triggers,
            operations: connector.operations.len(),
        }
    }
}

impl Summary {
    /// `true` if the connector needs a host that was not granted.
    pub(super) fn misses_hosts(&self) -> bool {
        !self.missing_hosts.is_empty()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} {}: {}", self.connector, self.version, self.title)?;
        writeln!(out, "  sha256      {}", self.sha256)?;
        if let Some(Module { bytes, compiled_bytes, checked_in_ms }) = self.module {
            let (kb, compiled_kb) = (bytes.div_ceil(1000), compiled_bytes.div_ceil(1000));
            writeln!(out, "  size        {kb} kB, and {compiled_kb} kB compiled; checked in {checked_in_ms} ms")?;
        }
        let users = match &*self.auth {
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
        // A connector of rows alone is made of none.
        if let Some(packages) = packages.as_ref().filter(|packages| !packages.is_empty()) {
            writeln!(out, "  packages    made of {}, which --json lists", packages.len())?;
        }
        match &self.signature {
            None if self.signature_unreadable => {
                writeln!(out, "  signature   cannot be read: it is not a minisign signature; sign the module again")?;
            }
            None => writeln!(out, "  signature   not signed")?,
            Some(SignatureRecord { key, publisher: Some(publisher) }) => {
                writeln!(out, "  signature   by publisher `{publisher}`, with the key {key}")?;
            }
            Some(SignatureRecord { key, publisher: None }) => {
                writeln!(out, "  signature   with the key {key}, not checked: `[trust]` has no publishers")?;
            }
        }
        for UpstreamRecord { name, host, credential, .. } in &self.upstreams {
            let host = host.as_deref().unwrap_or("no address yet");
            let place = match credential {
                None => "none".to_owned(),
                Some(place) => format!("{} `{}`", place.r#in.replace('_', " "), place.name),
            };
            writeln!(out, "  credential  upstream `{name}` ({host}): {place}")?;
        }
        for SettingRecord { name, default, documentation } in &self.settings {
            let default = default.as_deref().map(|text| format!(", {text} unless it is set")).unwrap_or_default();
            let lines: Vec<&str> = documentation.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            writeln!(out, "  setting     `{name}`{default}: {}", lines.join(" "))?;
        }
        for host in &self.granted_hosts {
            writeln!(out, "  reaches     {host}")?;
        }
        for host in &self.missing_hosts {
            writeln!(out, "  asks for    {host} (not granted)")?;
        }
        for DeclaredInboxRecord { name, scope } in &self.inboxes {
            writeln!(
                out,
                "  inbox       `{name}` of {}",
                if scope == "application" { "the application" } else { "each subscription" }
            )?;
        }
        for trigger in &self.triggers {
            writeln!(out, "  trigger     {}", of_trigger(trigger))?;
        }
        writeln!(out, "  operations  {}", self.operations)
    }
}

/// A type of events in one line: `message_received  read, push by inbox pubsub, every 300 s`.
fn of_trigger(trigger: &DeclaredTriggerRecord) -> String {
    let DeclaredTriggerRecord { r#type, title: _, source, inboxes, poll_s } = trigger;
    let push = match inboxes.as_slice() {
        [] => String::new(),
        [inbox] => format!(", push by inbox {inbox}"),
        inboxes => format!(", push by inboxes {}", inboxes.join(" or ")),
    };
    let poll = poll_s.map(|seconds| format!(", every {seconds} s")).unwrap_or_default();
    format!("{}  {source}{push}{poll}", r#type)
}

/// The members about the source of the module.
fn origin_members<S: Serializer>(provenance: &Provenance, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Members<'a> {
        source: &'a Option<String>,
        revision: &'a Option<String>,
        packages: &'a Option<Vec<Package>>,
    }
    let Provenance { source, revision, packages } = provenance;
    Members { source, revision, packages }.serialize(serializer)
}
