//! The values that hold, for operators: those of the file and of variables, and the defaults of all
//! other keys. Secrets are left out, and an operator sees only if they are set.
//!
//! Each struct of settings is taken apart by name, so that a new field is listed here or does not
//! compile. A test compares the keys with those that are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use url::{Origin, Url};

use super::connector::{Connector, Limits, Oauth, Pacing};
use super::settings::{Callbacks, Calls, Config, Jobs, KeptCalls, LogFormat, Mcp, OauthApp, OauthClient, Telemetry};
use super::tls::Tls;
use super::trust::Publisher;
use auth::{JwtIssuer, OidcSettings, Scope, TenantOf};
use contract::ClientAuthentication;
use sandbox::{CompileLimits, Pool};
use secrecy::SecretString;

/// The value of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveSetting {
    /// The section of the file, such as `connectors.mail.limits`. Empty for keys outside of
    /// sections.
    pub section: String,
    /// The key within the section.
    pub key: String,
    /// The value as in the file. Null if the key is not set, or if the value is secret.
    pub value: Value,
    /// `true` if a secret is set. `None` if the value is no secret.
    pub secret_is_set: Option<bool>,
    /// `true` if the value is another one than the default.
    pub changed: bool,
}

/// Lists the value of every key, in the order of `gateway.example.toml`.
pub fn effective(config: &Config) -> Vec<EffectiveSetting> {
    let connectors = config.connectors.keys().map(|name| (name.clone(), Connector::default())).collect();
    let mut defaults = Config { connectors, ..Config::default() };
    if !config.public_url_is_set {
        defaults.public_url = config.public_url.clone();
    }
    let defaults: BTreeMap<(String, String), (Value, Option<bool>)> = List::of(&defaults)
        .into_iter()
        .map(|setting| ((setting.section, setting.key), (setting.value, setting.secret_is_set)))
        .collect();
    let mut settings = List::of(config);
    for setting in &mut settings {
        let (value, is_set) = match defaults.get(&(setting.section.clone(), setting.key.clone())) {
            Some((value, is_set)) => (value, is_set.unwrap_or_default()),
            None => (&Value::Null, false),
        };
        setting.changed = setting.value != *value || setting.secret_is_set.unwrap_or_default() != is_set;
    }
    settings
}

/// The settings that were listed, and the section that further ones belong to.
#[derive(Default)]
struct List {
    section: String,
    settings: Vec<EffectiveSetting>,
}

impl List {
    fn of(config: &Config) -> Vec<EffectiveSetting> {
        let mut list = Self::default();
        list.config(config);
        list.settings
    }

    fn begin(&mut self, section: impl Into<String>) {
        self.section = section.into();
    }

    fn add(&mut self, key: &str, value: impl Into<Value>) {
        let (section, key, value) = (self.section.clone(), key.to_owned(), value.into());
        self.settings.push(EffectiveSetting { section, key, value, secret_is_set: None, changed: false });
    }

    fn secret(&mut self, key: &str, secret: Option<&SecretString>) {
        self.add(key, Value::Null);
        if let Some(added) = self.settings.last_mut() {
            added.secret_is_set = Some(secret.is_some());
        }
    }

    fn config(&mut self, config: &Config) {
        let Config {
            listen,
            admin_listen,
            public_url,
            public_url_is_set: _,
            data_dir,
            database_url,
            master_key_file,
            shipped_dir,
            modules_dir,
            allowed_callback_origins,
            allowed_origins,
            admin_hosts,
            trusted_proxies,
            max_connections,
            caller_timeout,
            memory_bytes,
            max_body_mb,
            log,
            log_format,
            drain,
            bootstrap_key,
            tls,
            admin_tls,
            compile,
            sandbox,
            fleet_name,
            jobs,
            mcp,
            oauth_clients,
            oauth_apps,
            jwt_issuers,
            console_oidc,
            trust,
            max_stored_bytes,
            keys_max_age,
            audit_keep,
            callbacks,
            calls,
            telemetry,
            connectors,
        } = config;
        self.add("listen", listen.to_string());
        self.add("admin_listen", admin_listen.map(|address| address.to_string()));
        self.add("public_url", url(public_url));
        self.add("data_dir", path(data_dir));
        self.secret("database_url", database_url.as_ref());
        self.add("master_key_file", master_key_file.as_deref().map(path));
        self.add("shipped_dir", shipped_dir.as_deref().map(path));
        self.add("modules_dir", path(modules_dir));
        self.add("allowed_callback_origins", origins(allowed_callback_origins));
        self.add("allowed_origins", origins(allowed_origins));
        self.add("admin_hosts", json!(admin_hosts));
        let networks: Vec<String> = trusted_proxies.iter().map(ToString::to_string).collect();
        self.add("trusted_proxies", networks);
        self.add("max_connections", json!(max_connections));
        self.add("caller_timeout_s", seconds(*caller_timeout));
        self.add("memory_mb", memory_bytes >> 20);
        self.add("max_body_mb", *max_body_mb);
        self.add("log", log.to_string());
        let log_format = match log_format {
            LogFormat::Auto => "auto",
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        };
        self.add("log_format", log_format);
        self.add("drain_s", seconds(*drain));
        self.secret("GATEWAY_BOOTSTRAP_KEY", bootstrap_key.as_ref());
        self.certificates(tls.as_ref(), admin_tls.as_ref());
        self.processes(compile, sandbox);
        self.begin("fleet");
        self.add("name", json!(fleet_name));
        self.calls_of_operations(jobs, mcp);
        self.oauth_clients(oauth_clients, oauth_apps);
        self.registrations(jwt_issuers, console_oidc.as_ref());
        for (name, Publisher { key: _, key_id, connectors }) in &trust.publishers {
            self.begin(format!("trust.publishers.{name}"));
            self.add("key", key_id.as_str());
            self.add("connectors", json!(connectors));
        }
        self.begin("tenants");
        self.add("max_stored_mb", max_stored_bytes >> 20);
        self.begin("keys");
        self.add("max_age_s", seconds(*keys_max_age));
        self.begin("audit");
        self.add("keep_days", audit_keep.as_secs() / 86_400);
        self.records(calls, callbacks, telemetry);
        for (name, connector) in connectors {
            self.connector(name, connector);
        }
    }

    fn certificates(&mut self, tls: Option<&Tls>, admin_tls: Option<&Tls>) {
        for (section, files) in [("tls", tls), ("admin_tls", admin_tls)] {
            self.begin(section);
            self.add("certificate", files.map(|files| path(&files.certificate)));
            self.add("key", files.map(|files| path(&files.key)));
            if section == "admin_tls" {
                self.add("client_ca", files.and_then(|files| files.client_ca.as_deref()).map(path));
            }
        }
    }

    fn processes(&mut self, compile: &CompileLimits, sandbox: &Pool) {
        let CompileLimits { memory_mb, cpu_s, max_module_mb, cache_mb } = compile;
        self.begin("compile");
        self.add("memory_mb", *memory_mb);
        self.add("cpu_s", *cpu_s);
        self.add("max_module_mb", *max_module_mb);
        self.add("cache_mb", *cache_mb);
        let Pool { instances, core_instances_per_component } = sandbox;
        self.begin("sandbox");
        self.add("instances", *instances);
        self.add("core_instances_per_component", *core_instances_per_component);
    }

    fn calls_of_operations(&mut self, jobs: &Jobs, mcp: &Mcp) {
        let Jobs { workers, max_pending_per_tenant, keep, timeout, cpu } = jobs;
        self.begin("jobs");
        self.add("workers", *workers);
        self.add("max_pending_per_tenant", *max_pending_per_tenant);
        self.add("keep_h", hours(*keep));
        self.add("timeout_s", seconds(*timeout));
        self.add("cpu_ms", milliseconds(*cpu));
        let Mcp { direct_tools, max_result_bytes, max_streams } = mcp;
        self.begin("mcp");
        self.add("direct_tools", *direct_tools);
        self.add("max_result_kb", max_result_bytes >> 10);
        self.add("max_streams", *max_streams);
    }

    fn oauth_clients(&mut self, clients: &BTreeMap<String, OauthClient>, apps: &BTreeMap<String, OauthApp>) {
        let names: BTreeSet<&String> = clients.keys().chain(apps.keys()).collect();
        for name in names {
            let (client, app) = (clients.get(name), apps.get(name));
            self.begin(format!("oauth_clients.{name}"));
            self.add("client_id", json!(client.map(|client| &client.client_id)));
            self.secret("client_secret", client.and_then(|client| client.client_secret.as_ref()));
            self.add("app_id", json!(app.map(|app| &app.id)));
            self.secret("private_key", app.map(|app| &app.private_key));
        }
    }

    fn registrations(&mut self, issuers: &BTreeMap<String, JwtIssuer>, oidc: Option<&OidcSettings>) {
        for (name, issuer) in issuers {
            let JwtIssuer { issuer, audience, jwks_url, tenant, scopes, allow_private_network } = issuer;
            self.begin(format!("jwt_issuers.{name}"));
            self.add("issuer", issuer.as_str());
            self.add("audience", audience.as_str());
            self.add("jwks_url", url(jwks_url));
            let (tenant, claim) = match tenant {
                TenantOf::Issuer(tenant) => (Some(tenant), None),
                TenantOf::Claim(claim) => (None, Some(claim)),
            };
            self.add("tenant", json!(tenant));
            self.add("tenant_claim", json!(claim));
            self.add("scopes", json!(scopes.iter().map(Scope::name).collect::<Vec<_>>()));
            self.add("allow_private_network", *allow_private_network);
        }
        let Some(oidc) = oidc else { return };
        let OidcSettings {
            issuer,
            client_id,
            client_secret,
            claim,
            value,
            scopes,
            redirect_url,
            allow_private_network,
        } = oidc;
        self.begin("console.oidc");
        self.add("issuer", issuer.as_str());
        self.add("client_id", client_id.as_str());
        self.secret("client_secret", client_secret.as_ref());
        self.add("claim", claim.as_str());
        self.add("value", value.as_str());
        self.add("scopes", json!(scopes));
        self.add("redirect_url", redirect_url.as_ref().map(url));
        self.add("allow_private_network", *allow_private_network);
    }

    fn records(&mut self, calls: &Calls, callbacks: &Callbacks, telemetry: &Telemetry) {
        let Calls { keep, keep_for, max } = calls;
        self.begin("calls");
        let keep = match keep {
            KeptCalls::Failed => "failed",
            KeptCalls::All => "all",
            KeptCalls::None => "none",
        };
        self.add("keep", keep);
        self.add("keep_h", hours(*keep_for));
        self.add("max", *max);
        let Callbacks { allow_private_network, events_url, keep } = callbacks;
        self.begin("callbacks");
        self.add("allow_private_network", *allow_private_network);
        self.add("events_url", events_url.as_ref().map(url));
        self.add("keep_h", hours(*keep));
        let Telemetry { endpoint, headers, sampling_ratio, service_name, metrics_interval } = telemetry;
        self.begin("telemetry");
        self.add("endpoint", endpoint.as_ref().map(url));
        self.add("sampling_ratio", *sampling_ratio);
        self.add("service_name", service_name.as_str());
        self.add("metrics_interval_s", seconds(*metrics_interval));
        self.begin("telemetry.headers");
        for (name, value) in headers {
            self.secret(name, Some(value));
        }
    }

    fn connector(&mut self, name: &str, connector: &Connector) {
        let Connector {
            upstreams,
            oauth,
            allow_private_network,
            trusts_replacements: _,
            link_hosts,
            settings,
            limits,
            pacing,
        } = connector;
        let section = format!("connectors.{name}");
        self.begin(section.as_str());
        self.add("allow_private_network", *allow_private_network);
        self.begin(format!("{section}.upstreams"));
        for (name, base_url) in upstreams {
            self.add(name, url(base_url));
        }
        self.begin(format!("{section}.link_hosts"));
        for (name, hosts) in link_hosts {
            self.add(name, json!(hosts));
        }
        self.oauth(&section, oauth);
        // A manifest does not say which of its settings are secret.
        self.begin(format!("{section}.settings"));
        for name in settings.keys() {
            self.secret(name, Some(&SecretString::default()));
        }
        self.limits(&section, *limits, *pacing);
    }

    fn oauth(&mut self, section: &str, oauth: &Oauth) {
        let Oauth {
            authorization_url,
            token_url,
            device_authorization_url,
            revocation_url,
            userinfo_url,
            scopes,
            client_authentication,
            revokes_replaced_grants,
            authorization_parameters,
        } = oauth;
        self.begin(format!("{section}.oauth"));
        let urls = [
            ("authorization_url", authorization_url),
            ("token_url", token_url),
            ("device_authorization_url", device_authorization_url),
            ("revocation_url", revocation_url),
            ("userinfo_url", userinfo_url),
        ];
        for (key, value) in urls {
            self.add(key, value.as_ref().map(url));
        }
        self.add("scopes", json!(scopes));
        let client_authentication = client_authentication.map(|way| match way {
            ClientAuthentication::Body => "body",
            ClientAuthentication::Basic => "basic",
        });
        self.add("client_authentication", client_authentication);
        self.add("revokes_replaced_grants", json!(revokes_replaced_grants));
        self.begin(format!("{section}.oauth.authorization_parameters"));
        for (name, value) in authorization_parameters {
            self.add(name, value.as_str());
        }
    }

    fn limits(&mut self, section: &str, limits: Limits, pacing: Option<Pacing>) {
        let Limits { memory_mb, cpu_ms, timeout_s, response_mb, output_mb, concurrency, tenant_share, download_mb } =
            limits;
        self.begin(format!("{section}.limits"));
        self.add("memory_mb", memory_mb);
        self.add("cpu_ms", cpu_ms);
        self.add("timeout_s", timeout_s);
        self.add("response_mb", response_mb);
        self.add("output_mb", output_mb);
        self.add("concurrency", concurrency);
        self.add("tenant_share", tenant_share);
        self.add("download_mb", download_mb);
        let Some(Pacing { interval_ms, max_wait_ms, concurrency }) = pacing else { return };
        self.begin(format!("{section}.pacing"));
        self.add("interval_ms", interval_ms);
        self.add("max_wait_ms", max_wait_ms);
        self.add("concurrency", concurrency);
    }
}

/// A URL without its query, which may have a key of a receiver.
fn url(url: &Url) -> String {
    let mut shown = url.clone();
    if url.query().is_some() {
        shown.set_query(Some("…"));
    }
    // The library encodes the sign for what is left out.
    shown.as_str().replace("?%E2%80%A6", "?…")
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

fn origins(origins: &[Origin]) -> Value {
    json!(origins.iter().map(Origin::ascii_serialization).collect::<Vec<_>>())
}

fn seconds(time: Duration) -> u64 {
    time.as_secs()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn hours(time: Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}

#[cfg(test)]
mod tests;
