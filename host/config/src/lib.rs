//! The operator's configuration: `gateway.toml`, and environment variables that replace its values.
//!
//! It is read once, at the start, into typed values. No other module reads the file or a variable.
//! `gateway.example.toml` next to this crate documents each key and its default. A test compares it
//! with this module.
//!
//! - [`settings`]: everything that an operator can set, with the defaults and the keys
//! - [`sections`]: the same for single sections
//! - [`connector`]: the settings of one connector
//! - [`mod@telemetry`]: the settings of `telemetry`
//! - [`declare`]: declares a setting with its default, its key and the kind of the key's values
//! - [`kind`]: a kind of values: how they are read, and how operators see them
//! - [`load`]: reads the file and the environment
//! - [`source`]: the file and the variables as one table, with the location of each value
//! - [`section`]: reads the keys of one table, and reports unknown ones
//! - [`value`]: the kinds of the values of all keys
//! - [`mod@read`]: reads every key, and checks what depends on several keys
//! - [`jwt_issuer`]: the keys of `jwt_issuers`
//! - [`oauth_client`]: the keys of `oauth_clients`
//! - [`client_secret`]: the secret of an OAuth client, and the private key of an application
//! - [`private_key`]: reads private keys
//! - [`mod@console`]: the keys of `console.oidc`
//! - [`trust`]: the keys of `trust`
//! - [`list`]: the list of keys with their values
//! - [`mod@effective`]: the values that hold, without secrets, for operators
//! - [`tls`]: the keys of `tls` and `admin_tls`
//! - [`error`]: what is wrong with a configuration, with the locations

mod client_secret;
mod connect;
mod connector;
mod console;
mod declare;
mod effective;
mod error;
mod jwt_issuer;
mod kind;
mod list;
mod load;
mod oauth_client;
mod private_key;
mod read;
mod section;
mod sections;
mod settings;
mod source;
mod telemetry;
mod tls;
mod trust;
mod value;

pub use self::connect::{Application, Connect, Logo};
pub use self::connector::{Connector, ConnectorHooks, Limits, Oauth, PROTOCOL_PARAMETERS, Pacing, Setting};
pub use self::effective::effective;
pub use self::error::{ConfigError, Location, Problem};
pub use self::list::EffectiveSetting;
pub use self::load::environment;
pub use self::oauth_client::{OauthApp, OauthClient, Registration};
pub use self::private_key::{BadKey, private_key_in, rsa_key};
pub use self::sections::{Callbacks, Calls, Hooks, Jobs, KeptCalls, Triggers};
pub use self::settings::{Config, LogFormat};
pub use self::telemetry::Telemetry;
pub use self::tls::Tls;
pub use self::trust::{Publisher, Trust, key_id};

#[cfg(test)]
mod tests;
