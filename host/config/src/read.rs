//! Every key. `gateway.example.toml` documents them.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use secrecy::ExposeSecret;

use super::connector::{Connector, Limits, Oauth, PROTOCOL_PARAMETERS, Pacing, Setting};
use super::error::{ConfigError, Problem};
use super::private_key::rsa_key;
use super::section::{Report, Section};
use super::settings::{Callbacks, Calls, Config, Jobs, OauthApp, OauthClient, Telemetry};
use super::source::Source;
use super::{client_secret, console, jwt_issuer, tls, trust, value};
use sandbox::{CompileLimits, Pool};

const NOT_AN_UPSTREAM: &str = "is not the name of an upstream; use 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`";

/// Reads all keys. Keys that are not set keep their defaults.
pub(super) fn read_config(source: Source) -> Result<Config, ConfigError> {
    let (config, problems, _) = read_known(source);
    if problems.is_empty() { Ok(config) } else { Err(ConfigError::Invalid { problems }) }
}

/// Like [`read_config`], and also returns the known keys, for the test of the documentation.
pub(super) fn read_known(source: Source) -> (Config, Vec<Problem>, Vec<String>) {
    let mut config = Config::default();
    let (mut report, table) = Report::new(source);
    report.read_table(table, |root| read_root(root, &mut config));
    let (problems, known) = report.problems();
    (config, problems, known)
}

fn read_root(root: &mut Section<'_>, config: &mut Config) {
    let mut listen = config.listen;
    root.value("listen", &mut listen, value::address);
    config.tls = tls::read_tls(root, "tls", false);
    config.listening_on(listen);
    root.value("admin_listen", &mut config.admin_listen, value::optional_address);
    if config.admin_listen.is_some_and(|admin_listen| overlap(admin_listen, listen)) {
        let message = format!("must be another address than `listen`, which is {listen}; choose another port");
        root.problem("admin_listen", message);
    }
    config.admin_tls = tls::read_tls(root, "admin_tls", true);
    if config.admin_tls.is_some() && config.admin_listen.is_none() {
        root.problem("admin_tls", "needs `admin_listen`, the address at which it is used".to_owned());
    }
    root.value("trusted_proxies", &mut config.trusted_proxies, value::networks);
    config.public_url_is_set = root.has("public_url");
    root.value("public_url", &mut config.public_url, value::base_url);
    root.value("data_dir", &mut config.data_dir, value::path);
    root.value("database_url", &mut config.database_url, value::database_url);
    root.value("master_key_file", &mut config.master_key_file, value::optional_path);
    root.value("shipped_dir", &mut config.shipped_dir, value::optional_path);
    root.value("modules_dir", &mut config.modules_dir, value::path);
    root.value("allowed_callback_origins", &mut config.allowed_callback_origins, value::origins);
    root.value("allowed_origins", &mut config.allowed_origins, value::origins);
    root.value("admin_hosts", &mut config.admin_hosts, value::host_names);
    let mut max_connections = config.max_connections.unwrap_or_default();
    root.value("max_connections", &mut max_connections, value::integer(0..=10_000_000));
    config.max_connections = Some(max_connections).filter(|&limit| limit > 0);
    let mut caller_timeout_s = config.caller_timeout.as_secs();
    root.value("caller_timeout_s", &mut caller_timeout_s, value::integer(1..=3600));
    config.caller_timeout = Duration::from_secs(caller_timeout_s);
    let mut memory_mb = 0;
    root.value("memory_mb", &mut memory_mb, value::integer(0..=16_777_216));
    if memory_mb > 0 {
        config.memory_bytes = memory_mb << 20;
    }
    root.value("max_body_mb", &mut config.max_body_mb, value::integer(1..=1024));
    root.value("log", &mut config.log, value::log_filter);
    root.value("log_format", &mut config.log_format, value::log_format);
    let mut drain_s = config.drain.as_secs();
    root.value("drain_s", &mut drain_s, value::integer(0..=3600));
    config.drain = Duration::from_secs(drain_s);
    root.section("compile", |section| read_compile(section, &mut config.compile));
    root.section("sandbox", |section| read_sandbox(section, &mut config.sandbox));
    root.section("fleet", |section| {
        let mut name = String::new();
        section.value("name", &mut name, value::string);
        config.fleet_name = Some(name).filter(|name| !name.is_empty());
    });
    root.section("jobs", |section| read_jobs(section, &mut config.jobs));
    root.section("mcp", |section| {
        section.value("direct_tools", &mut config.mcp.direct_tools, value::integer(0..=1000));
        let mut max_result_kb = config.mcp.max_result_bytes >> 10;
        section.value("max_result_kb", &mut max_result_kb, value::integer(1..=10_240));
        config.mcp.max_result_bytes = max_result_kb << 10;
        section.value("max_streams", &mut config.mcp.max_streams, value::integer(0..=100_000));
    });
    root.each("oauth_clients", |name, clients| {
        let (mut client, mut app) = (None, None);
        clients.section(name, |section| (client, app) = (read_oauth_client(section), read_oauth_app(section)));
        config.oauth_clients.extend(client.map(|client| (name.to_owned(), client)));
        config.oauth_apps.extend(app.map(|app| (name.to_owned(), app)));
    });
    root.each("jwt_issuers", |name, issuers| {
        let mut issuer = None;
        issuers.section(name, |section| issuer = jwt_issuer::read_jwt_issuer(section));
        let Some(issuer) = issuer else { return };
        if let Some(problem) =
            config.jwt_issuers.iter().find_map(|(previous, other)| jwt_issuer::conflict(&issuer, previous, other))
        {
            issuers.problem(name, problem);
        }
        config.jwt_issuers.insert(name.to_owned(), issuer);
    });
    root.section("console", |section| {
        section.section("oidc", |section| config.console_oidc = console::read_oidc(section));
    });
    root.section("trust", |section| trust::read_trust(section, &mut config.trust));
    root.section("tenants", |section| {
        let mut max_stored_mb = config.max_stored_bytes >> 20;
        section.value("max_stored_mb", &mut max_stored_mb, value::integer(1..=1_073_741_824));
        config.max_stored_bytes = max_stored_mb << 20;
    });
    root.section("keys", |section| {
        let mut max_age_s = config.keys_max_age.as_secs();
        section.value("max_age_s", &mut max_age_s, value::integer(5..=86_400));
        config.keys_max_age = Duration::from_secs(max_age_s);
    });
    root.section("audit", |section| {
        let mut keep_days = config.audit_keep.as_secs() / 86_400;
        section.value("keep_days", &mut keep_days, value::integer(1..=36_500));
        config.audit_keep = Duration::from_secs(keep_days * 86_400);
    });
    root.section("callbacks", |section| read_callbacks(section, &mut config.callbacks));
    root.section("calls", |section| read_calls(section, &mut config.calls));
    root.section("telemetry", |section| read_telemetry(section, &mut config.telemetry));
    root.each("connectors", |identifier, connectors| {
        if let Err(broken) = contract_rules::name::identifier(identifier) {
            connectors.refuse(identifier, &format!("is not the identifier of a connector: {broken}"));
            return;
        }
        let mut connector = Connector::default();
        connectors.section(identifier, |section| read_connector(section, &mut connector));
        config.connectors.insert(identifier.to_owned(), connector);
    });
}

/// Returns `true` if two sockets cannot listen at these addresses at the same time.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    // The operating system chooses a free port in place of port 0.
    let (one_ip, other_ip) = (one.ip(), other.ip());
    one.port() == other.port()
        && one.port() != 0
        && (one_ip == other_ip || one_ip.is_unspecified() || other_ip.is_unspecified())
}

fn read_compile(section: &mut Section<'_>, compile: &mut CompileLimits) {
    section.value("memory_mb", &mut compile.memory_mb, value::integer(64..=1_048_576));
    section.value("cpu_s", &mut compile.cpu_s, value::integer(1..=3600));
    section.value("max_module_mb", &mut compile.max_module_mb, value::integer(1..=1024));
    section.value("cache_mb", &mut compile.cache_mb, value::integer(1..=1_048_576));
}

fn read_sandbox(section: &mut Section<'_>, sandbox: &mut Pool) {
    section.value("instances", &mut sandbox.instances, value::integer(1..=10_000));
    section.value("core_instances_per_component", &mut sandbox.core_instances_per_component, value::integer(1..=256));
}

fn read_jobs(section: &mut Section<'_>, jobs: &mut Jobs) {
    section.value("workers", &mut jobs.workers, value::integer(0..=1000));
    section.value("max_pending_per_tenant", &mut jobs.max_pending_per_tenant, value::integer(1..=1_000_000));
    section.value("keep_h", &mut jobs.keep, value::hours);
    let (mut timeout_s, mut cpu_ms) = (jobs.timeout.as_secs(), jobs.cpu.as_millis() as u64);
    section.value("timeout_s", &mut timeout_s, value::integer(1..=86_400));
    section.value("cpu_ms", &mut cpu_ms, value::integer(1..=3_600_000));
    (jobs.timeout, jobs.cpu) = (Duration::from_secs(timeout_s), Duration::from_millis(cpu_ms));
}

fn read_callbacks(section: &mut Section<'_>, callbacks: &mut Callbacks) {
    section.value("allow_private_network", &mut callbacks.allow_private_network, value::boolean);
    section.value("events_url", &mut callbacks.events_url, value::optional_endpoint);
    let mut keep_h = callbacks.keep.as_secs() / 3600;
    section.value("keep_h", &mut keep_h, value::integer(0..=8760));
    callbacks.keep = Duration::from_secs(keep_h * 3600);
    if !callbacks.allow_private_network && callbacks.events_url.as_ref().is_some_and(|url| url.scheme() == "http") {
        let problem = "begins with http://; use https, or set `callbacks.allow_private_network`";
        section.problem("events_url", problem.to_owned());
    }
}

fn read_calls(section: &mut Section<'_>, calls: &mut Calls) {
    section.value("keep", &mut calls.keep, value::kept_calls);
    section.value("keep_h", &mut calls.keep_for, value::hours);
    section.value("max", &mut calls.max, value::integer(1..=10_000_000));
}

fn read_telemetry(section: &mut Section<'_>, telemetry: &mut Telemetry) {
    section.value("endpoint", &mut telemetry.endpoint, value::optional_base_url);
    section.each("headers", |name, headers| {
        if HeaderName::try_from(name).is_err() {
            headers.refuse(name, "is not the name of a header");
            return;
        }
        let mut secret = None;
        headers.value(name, &mut secret, value::secret);
        if secret.as_ref().is_some_and(|secret| HeaderValue::try_from(secret.expose_secret()).is_err()) {
            headers.problem(name, "has a character that headers cannot have".to_owned());
        }
        telemetry.headers.extend(secret.map(|secret| (name.to_owned(), secret)));
    });
    section.value("sampling_ratio", &mut telemetry.sampling_ratio, value::ratio);
    section.value("service_name", &mut telemetry.service_name, value::name);
    let mut interval_s = telemetry.metrics_interval.as_secs();
    section.value("metrics_interval_s", &mut interval_s, value::integer(1..=3600));
    telemetry.metrics_interval = Duration::from_secs(interval_s);
}

/// Reads a registration. Returns `None` if the client's id is empty, as in the example.
fn read_oauth_client(section: &mut Section<'_>) -> Option<OauthClient> {
    let mut client_id = String::new();
    section.value("client_id", &mut client_id, value::string);
    let client_secret = client_secret::read(section);
    if client_id.is_empty() && client_secret.is_some() {
        section.problem("client_id", "is missing, but there is a client secret".to_owned());
    }
    (!client_id.is_empty()).then_some(OauthClient { client_id, client_secret })
}

/// Reads an application that users install at the service. Returns `None` if its id is empty, as in
/// the example.
fn read_oauth_app(section: &mut Section<'_>) -> Option<OauthApp> {
    let mut id = String::new();
    section.value("app_id", &mut id, value::string);
    let private_key = client_secret::read_private_key(section);
    match (id.is_empty(), private_key) {
        (true, None) => None,
        (true, Some(_)) => {
            section.problem("app_id", "is missing, but there is a private key".to_owned());
            None
        }
        (false, None) => {
            section.problem("private_key", "is missing, but there is an `app_id`".to_owned());
            None
        }
        (false, Some(private_key)) => {
            if let Err(error) = rsa_key(&private_key) {
                section.problem("private_key", format!("cannot be used: {error}"));
            }
            Some(OauthApp { id, private_key })
        }
    }
}

fn read_connector(section: &mut Section<'_>, connector: &mut Connector) {
    section.each("upstreams", |name, upstreams| {
        if contract_rules::name::plain(name).is_err() {
            upstreams.refuse(name, NOT_AN_UPSTREAM);
            return;
        }
        let mut url = None;
        upstreams.value(name, &mut url, value::optional_base_url);
        connector.upstreams.extend(url.map(|url| (name.to_owned(), url)));
    });
    section.section("oauth", |section| read_oauth(section, &mut connector.oauth));
    section.value("allow_private_network", &mut connector.allow_private_network, value::boolean);
    section.each("link_hosts", |name, link_hosts| {
        if contract_rules::name::plain(name).is_err() {
            link_hosts.refuse(name, NOT_AN_UPSTREAM);
            return;
        }
        let mut hosts = Vec::new();
        link_hosts.value(name, &mut hosts, value::link_hosts);
        connector.link_hosts.insert(name.to_owned(), hosts);
    });
    section.each("settings", |key, settings| {
        let location = settings.location(key);
        let mut setting = None;
        settings.value(key, &mut setting, |given| {
            let text = given.text.map(str::to_owned);
            Ok(Some(Setting { value: value::json(given.value)?, text, location }))
        });
        connector.settings.extend(setting.map(|setting| (key.to_owned(), setting)));
    });
    section.section("limits", |section| read_limits(section, &mut connector.limits));
    let is_paced = section.has("pacing");
    section.section("pacing", |section| {
        let mut pacing = Pacing::default();
        section.value("interval_ms", &mut pacing.interval_ms, value::integer(0..=3_600_000));
        section.value("max_wait_ms", &mut pacing.max_wait_ms, value::integer(0..=3_600_000));
        section.value("concurrency", &mut pacing.concurrency, value::integer(1..=100_000));
        connector.pacing = is_paced.then_some(pacing);
    });
}

fn read_oauth(section: &mut Section<'_>, oauth: &mut Oauth) {
    section.value("authorization_url", &mut oauth.authorization_url, value::optional_endpoint);
    section.value("token_url", &mut oauth.token_url, value::optional_endpoint);
    section.value("device_authorization_url", &mut oauth.device_authorization_url, value::optional_endpoint);
    section.value("revocation_url", &mut oauth.revocation_url, value::optional_endpoint);
    section.value("userinfo_url", &mut oauth.userinfo_url, value::optional_endpoint);
    section.value("scopes", &mut oauth.scopes, |given| value::strings(given).map(Some));
    section.value("client_authentication", &mut oauth.client_authentication, value::client_authentication);
    section
        .value("revokes_replaced_grants", &mut oauth.revokes_replaced_grants, |given| value::boolean(given).map(Some));
    section.each("authorization_parameters", |name, parameters| {
        if PROTOCOL_PARAMETERS.contains(&name) {
            parameters.refuse(name, "is a parameter that the gateway sets itself; leave it out");
            return;
        }
        let mut value = String::new();
        parameters.value(name, &mut value, value::string);
        oauth.authorization_parameters.insert(name.to_owned(), value);
    });
}

fn read_limits(section: &mut Section<'_>, limits: &mut Limits) {
    section.value("memory_mb", &mut limits.memory_mb, value::integer(0..=4096));
    section.value("cpu_ms", &mut limits.cpu_ms, value::integer(1..=600_000));
    section.value("timeout_s", &mut limits.timeout_s, value::integer(1..=3600));
    section.value("response_mb", &mut limits.response_mb, value::integer(1..=4096));
    section.value("output_mb", &mut limits.output_mb, value::integer(0..=4096));
    section.value("concurrency", &mut limits.concurrency, value::integer(1..=100_000));
    section.value("tenant_share", &mut limits.tenant_share, value::share);
    section.value("download_mb", &mut limits.download_mb, value::integer(1..=10_240));
}
