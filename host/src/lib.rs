//! The gateway: it runs each third-party connector as a WebAssembly component in a sandbox, and
//! serves all connectors through one REST scheme.
//!
//! # Layout
//! - `serve`: starts a gateway and stops it
//! - `welcome`: the greeting of `serve`
//! - `local`: parts of a gateway for commands that do not serve
//! - `signals`: the signals that end the process
//! - `fuzzing`: readers of foreign text, for the fuzz targets in `host/fuzz`
//!
//! The parts of a gateway are separate crates, which `host/ARCHITECTURE.md` lists by floor.

#![expect(unreachable_pub, reason = "in a private module, `pub` marks what the crate's other modules may use")]

#[doc(hidden)]
pub mod fuzzing;
mod local;
mod serve;
mod signals;
mod welcome;

// The crates `authoring` and `cli`, which have the commands, use these items. Nothing else is
// public.

// A gateway that serves.
pub use serve::{Extras, Ready, ServeError, serve};
pub use signals::Stop;
pub use telemetry::logging::start as start_logging;
pub use welcome::print as print_welcome;

// A gateway that does not serve.
pub use local::{AuthorAccount, LocalCalls, LocalFailure, open_registry, open_scratch_registry};

// Its events.
pub use webhooks::{SigningSecret, signatures};

// Its dangers.
pub use doctor::exposure::{Exposure, open_data_folder};

// Its checks.
pub use doctor::{
    Examined, Finding, Level as FindingLevel, Report as DoctorReport, examine_certificates, examine_connectors,
    examine_database, examine_machine,
};

// Its configuration.
pub use config::{Config, ConfigError, LogFormat, Oauth, OauthClient, environment};

// Its connectors, and how they change.
pub use registry::{
    Actor, AuthorSettings, ChangeError, Connector, Endpoint, GRANT_COMMAND, Installation, Installed, Operation,
    Refusal, RefusedPart, Registry, Swapped, key_id_of_signature, present_module, signature_file, signature_fits,
    signature_of, try_schemas,
};

// The records of the admin routes, which commands print.
pub use api::{description, typed_description};
pub use endpoint::records::connectors as records;
pub use endpoint::records::gateways as gateway_records;
pub use endpoint::records::operator as operator_records;
pub use operators::admin::{SIGNATURE, audit_page};
pub use rest::connectors::connectors_record;

// The lists of the admin routes, whose filters are options of commands.
pub use endpoint::lists;
pub use operators::operator_lists;

// Credentials of callers and of users.
pub use auth::{NoRandomness, Scope, make_key};
pub use integrations::{Key, KeyForm, KeyUse};
