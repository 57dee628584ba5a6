//! Conversions from TOML values to typed ones. Each error names the expected value, to be read
//! after "must be". It quotes the wrong value only if that cannot contain a secret.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use secrecy::SecretString;
use serde_json::Value as Json;
use toml::Value;
use tracing_subscriber::filter::{LevelFilter, Targets};
use url::{Origin, Url};

use super::section::{Expected, Given};
use contract_rules::text::is_hidden;

/// Longest quote of a wrong value.
const QUOTED_CHARACTERS: usize = 60;

/// An error that quotes the wrong value.
pub(super) fn found(expected: &str, given: &Given<'_>) -> Expected {
    let text = match given.value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => format!("`{}`", other.to_string().chars().take(QUOTED_CHARACTERS).collect::<String>()),
    };
    format!("{expected}; it is {text}")
}

pub(super) fn string(given: &Given<'_>) -> Result<String, Expected> {
    given.string().map(str::to_owned).ok_or_else(|| found("a string", given))
}

/// A text that is not empty, and all of which is seen.
pub(super) fn name(given: &Given<'_>) -> Result<String, Expected> {
    given
        .string()
        .filter(|text| !text.trim().is_empty() && !text.contains(is_hidden))
        .map(str::to_owned)
        .ok_or_else(|| found("a name", given))
}

/// A secret, or `None` for an empty string. Files and variables often have a line break after it.
pub(super) fn secret(given: &Given<'_>) -> Result<Option<SecretString>, Expected> {
    let text = files::secret_of(given.string().ok_or("a string in quotes")?);
    Ok((!text.is_empty()).then(|| text.into()))
}

pub(super) fn boolean(given: &Given<'_>) -> Result<bool, Expected> {
    given.value.as_bool().ok_or_else(|| found("true or false", given))
}

/// A whole number within bounds. The bounds must fit into `T`.
pub(super) fn integer<T: TryFrom<i64>>(range: RangeInclusive<i64>) -> impl Fn(&Given<'_>) -> Result<T, Expected> {
    move |given| {
        given
            .value
            .as_integer()
            .filter(|number| range.contains(number))
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| found(&format!("a whole number from {} to {}", range.start(), range.end()), given))
    }
}

/// A number of hours above 0, at most a year. May have decimals.
pub(super) fn hours(given: &Given<'_>) -> Result<Duration, Expected> {
    const YEAR: f64 = 366.0 * 24.0;
    let hours = given.value.as_float().or_else(|| given.value.as_integer().map(|hours| hours as f64));
    hours
        .filter(|hours| *hours > 0.0 && *hours <= YEAR)
        .map(|hours| Duration::from_secs_f64(hours * 3600.0))
        .ok_or_else(|| found("a number of hours above 0, such as 24 or 0.5", given))
}

/// A part of a whole: a number above 0, at most 1.
pub(super) fn share(given: &Given<'_>) -> Result<f64, Expected> {
    let share = given.value.as_float().or_else(|| given.value.as_integer().map(|share| share as f64));
    share
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| found("a number above 0 and at most 1, such as 0.5", given))
}

/// A part of a whole, from 0 to 1.
pub(super) fn ratio(given: &Given<'_>) -> Result<f64, Expected> {
    let ratio = given.value.as_float().or_else(|| given.value.as_integer().map(|ratio| ratio as f64));
    ratio.filter(|ratio| (0.0..=1.0).contains(ratio)).ok_or_else(|| found("a number from 0 to 1, such as 0.1", given))
}

pub(super) fn address(given: &Given<'_>) -> Result<SocketAddr, Expected> {
    given
        .string()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| found("an IP address and a port, such as \"127.0.0.1:8080\"", given))
}

pub(super) fn path(given: &Given<'_>) -> Result<PathBuf, Expected> {
    given
        .string()
        .filter(|text| !text.is_empty())
        .map(PathBuf::from)
        .ok_or_else(|| found("the path of a folder", given))
}

/// A path, or `None` for an empty string.
pub(super) fn optional_path(given: &Given<'_>) -> Result<Option<PathBuf>, Expected> {
    let text = given.string().ok_or_else(|| found("the path of a file", given))?;
    Ok((!text.is_empty()).then(|| text.into()))
}

/// A default level, and levels of modules: `info,egress=debug`. This is stricter than the parser of
/// [`Targets`], which takes a misspelt level such as `inof` for the name of a module.
pub(super) fn log_filter(given: &Given<'_>) -> Result<Targets, Expected> {
    let level = |text: &str| text.trim().parse::<LevelFilter>().ok();
    let parse = |text: &str| {
        let mut filter = Targets::new();
        for directive in text.split(',').map(str::trim) {
            filter = match directive.split_once('=') {
                Some((target, text)) if !target.trim().is_empty() => filter.with_target(target.trim(), level(text)?),
                Some(_) => return None,
                None => filter.with_default(level(directive)?),
            };
        }
        Some(filter)
    };
    given.string().and_then(parse).ok_or_else(|| {
        found("off, error, warn, info, debug or trace, then levels of modules, such as \"info,hyper=debug\"", given)
    })
}

/// An absolute http or https URL to which paths are appended. Errors do not quote it, because it
/// may contain a password.
pub(super) fn base_url(given: &Given<'_>) -> Result<Url, Expected> {
    const EXPECTED: &str =
        "an absolute http or https URL without user name, query and fragment, such as \"https://api.example.com/v1\"";
    http_url(given).filter(|url| url.query().is_none() && url.fragment().is_none()).ok_or_else(|| EXPECTED.to_owned())
}

/// Like [`base_url`], or `None` for an empty string.
pub(super) fn optional_base_url(given: &Given<'_>) -> Result<Option<Url>, Expected> {
    if given.string() == Some("") { Ok(None) } else { base_url(given).map(Some) }
}

/// An absolute http or https URL, which may have a query, or `None` for an empty string.
pub(super) fn optional_endpoint(given: &Given<'_>) -> Result<Option<Url>, Expected> {
    if given.string() == Some("") {
        return Ok(None);
    }
    http_url(given)
        .filter(|url| url.fragment().is_none())
        .map(Some)
        .ok_or_else(|| "an absolute http or https URL without user name and fragment, or empty".to_owned())
}

fn http_url(given: &Given<'_>) -> Option<Url> {
    let url = Url::parse(given.string()?).ok()?;
    let is_plain = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    is_plain.then_some(url)
}

/// The URL of a PostgreSQL database, or `None` for an empty string. Errors do not quote it, because
/// it may contain a password.
pub(super) fn database_url(given: &Given<'_>) -> Result<Option<SecretString>, Expected> {
    let text = files::secret_of(given.string().unwrap_or("?"));
    if text.is_empty() || text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return secret(given);
    }
    Err("empty, for SQLite in `data_dir`, or a URL such as \"postgres://user@host/database\"".to_owned())
}

pub(super) fn origins(given: &Given<'_>) -> Result<Vec<Origin>, Expected> {
    const EXPECTED: &str = "a list of origins, such as [\"https://app.example.com\"], without paths";
    let origin = |text: String| {
        let url = http_url(&Given::from_value(&Value::String(text)))?;
        let is_origin = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        is_origin.then(|| url.origin())
    };
    strings(given).ok().and_then(|texts| texts.into_iter().map(origin).collect()).ok_or_else(|| EXPECTED.to_owned())
}

pub(super) fn strings(given: &Given<'_>) -> Result<Vec<String>, Expected> {
    given
        .value
        .as_array()
        .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect())
        .ok_or_else(|| found("a list of strings, such as [\"one\", \"two\"]", given))
}

/// Addresses, and networks in the notation of CIDR.
pub(super) fn networks(given: &Given<'_>) -> Result<Vec<IpNet>, Expected> {
    const EXPECTED: &str = "a list of addresses and networks, such as [\"10.0.0.7\", \"192.168.0.0/16\", \"fd00::/8\"]";
    let network = |text: &String| {
        let address = text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
        address.or_else(|| text.parse().ok())
    };
    strings(given).ok().and_then(|texts| texts.iter().map(network).collect()).ok_or_else(|| EXPECTED.to_owned())
}

/// Host names without ports, in lower case.
pub(super) fn host_names(given: &Given<'_>) -> Result<Vec<String>, Expected> {
    let is_name = |name: &String| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    let names = strings(given)?;
    match names.iter().all(is_name) {
        true => Ok(names.iter().map(|name| name.to_ascii_lowercase()).collect()),
        false => Err("a list of host names without ports, such as [\"gateway.internal\"]".to_owned()),
    }
}

/// Hosts such as `files.example.com` and `127.0.0.1:9000`, and wildcards such as `*.example.com`.
pub(super) fn link_hosts(given: &Given<'_>) -> Result<Vec<String>, Expected> {
    let hosts = strings(given)?;
    match hosts.iter().find(|host| !is_link_host(host)) {
        None => Ok(hosts),
        Some(_) => Err(
            "a list of hosts, such as [\"files.example.com\", \"*.example.com\"]; a wildcard is `*.` and a registrable domain"
                .to_owned(),
        ),
    }
}

/// Returns whether a text is a name or an address, with a port if it is not the default of the
/// scheme, or a wildcard.
fn is_link_host(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, "443"));
    contract::site::link_host(text).is_ok()
        || !host.starts_with('*') && contract::site::link_host(host).is_ok() && port.parse::<u16>().is_ok()
}

/// Any value, in the JSON form that the connector gets.
pub(super) fn json(value: &Value) -> Result<Json, Expected> {
    Ok(match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => serde_json::Number::from_f64(*number)
            .map(Json::Number)
            .ok_or("a value that JSON can represent, not NaN or an infinite number")?,
        Value::Boolean(boolean) => (*boolean).into(),
        Value::Datetime(time) => time.to_string().into(),
        Value::Array(items) => Json::Array(items.iter().map(json).collect::<Result<_, _>>()?),
        Value::Table(table) => Json::Object(
            table.iter().map(|(key, value)| Ok((key.clone(), json(value)?))).collect::<Result<_, Expected>>()?,
        ),
    })
}
