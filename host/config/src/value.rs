//! The kinds of the values of all keys. Each error names the expected value, to be read after "must
//! be". It quotes the wrong value only if that cannot contain a secret.

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

use super::kind::{Kind, Shown, found, plain, text};
use super::section::{Expected, Given};
use contract_rules::text::is_hidden;
use memory::MemoryBudget;

pub(super) fn string() -> Kind<String> {
    plain(|given| given.string().map(str::to_owned).ok_or_else(|| found("a string", given)))
}

/// A text that is not empty, and all of which is seen.
pub(super) fn name() -> Kind<String> {
    plain(|given| {
        let name = given.string().filter(|text| !text.trim().is_empty() && !text.contains(is_hidden));
        name.map(str::to_owned).ok_or_else(|| found("a name", given))
    })
}

/// A secret, or `None` for an empty string. Files and variables often have a line break after it.
pub(super) fn secret() -> Kind<Option<SecretString>> {
    secret_that(|_| true, "a string in quotes")
}

/// The URL of a PostgreSQL database, or `None` for an empty string.
pub(super) fn database_url() -> Kind<Option<SecretString>> {
    let is_url = |text: &str| text.is_empty() || text.starts_with("postgres://") || text.starts_with("postgresql://");
    secret_that(is_url, "empty, for SQLite in `data_dir`, or a URL such as \"postgres://user@host/database\"")
}

/// A secret that `is_valid` accepts, or `None` for an empty string. Errors do not quote it.
fn secret_that(is_valid: fn(&str) -> bool, expected: &'static str) -> Kind<Option<SecretString>> {
    Kind::new(
        move |given| {
            let text = given.string().map(files::secret_of).filter(|text| is_valid(text)).ok_or(expected)?;
            Ok((!text.is_empty()).then(|| text.into()))
        },
        |secret| Shown::Secret(secret.is_some()),
    )
}

pub(super) fn boolean() -> Kind<bool> {
    plain(|given| given.value.as_bool().ok_or_else(|| found("true or false", given)))
}

/// A whole number within bounds. The bounds must fit into `T`.
pub(super) fn integer<T: TryFrom<i64> + Clone + Into<Json> + 'static>(range: RangeInclusive<i64>) -> Kind<T> {
    plain(whole_number(range))
}

fn whole_number<T: TryFrom<i64>>(range: RangeInclusive<i64>) -> impl Fn(&Given<'_>) -> Result<T, Expected> {
    move |given| {
        let number = given.value.as_integer().filter(|number| range.contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| found(&format!("a whole number from {} to {}", range.start(), range.end()), given))
    }
}

/// Whole numbers of a unit. `of` converts a number of the unit to the value, and `amount` converts
/// the value to a number.
fn amount<T: 'static, S: Into<Shown> + 'static>(
    range: RangeInclusive<i64>,
    of: fn(u64) -> T,
    amount: fn(&T) -> S,
) -> Kind<T> {
    let number = whole_number(range);
    Kind::new(move |given| number(given).map(of), amount)
}

/// A maximum, or `None` for 0.
pub(super) fn maximum(range: RangeInclusive<i64>) -> Kind<Option<usize>> {
    let number = whole_number(range);
    plain(move |given| number(given).map(|maximum| Some(maximum).filter(|&maximum| maximum > 0)))
}

pub(super) fn milliseconds(range: RangeInclusive<i64>) -> Kind<Duration> {
    amount(range, Duration::from_millis, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

pub(super) fn seconds(range: RangeInclusive<i64>) -> Kind<Duration> {
    amount(range, Duration::from_secs, Duration::as_secs)
}

pub(super) fn whole_hours(range: RangeInclusive<i64>) -> Kind<Duration> {
    amount(range, |hours| Duration::from_secs(hours * 3600), in_hours)
}

pub(super) fn days(range: RangeInclusive<i64>) -> Kind<Duration> {
    amount(range, |days| Duration::from_secs(days * 86_400), |time| time.as_secs() / 86_400)
}

pub(super) fn kibibytes(range: RangeInclusive<i64>) -> Kind<usize> {
    let number = whole_number::<usize>(range);
    Kind::new(move |given| Ok(number(given)? << 10), |bytes| bytes >> 10)
}

pub(super) fn mebibytes(range: RangeInclusive<i64>) -> Kind<u64> {
    amount(range, |mebibytes| mebibytes << 20, |bytes| bytes >> 20)
}

/// Memory of this process in MiB. 0 is half of the memory of the machine.
pub(super) fn memory_mb(range: RangeInclusive<i64>) -> Kind<u64> {
    let bytes = |mebibytes| if mebibytes == 0 { MemoryBudget::half_of_the_machine() } else { mebibytes << 20 };
    amount(range, bytes, |bytes| bytes >> 20)
}

/// A number of hours above 0, at most a year. May have decimals.
pub(super) fn hours() -> Kind<Duration> {
    const YEAR: f64 = 366.0 * 24.0;
    let is_valid = |hours| hours > 0.0 && hours <= YEAR;
    let hours = number_that(is_valid, "a number of hours above 0 and at most 8784, such as 24 or 0.5");
    Kind::new(move |given| hours(given).map(|hours| Duration::from_secs_f64(hours * 3600.0)), in_hours)
}

fn in_hours(time: &Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}

/// A part of a whole: a number above 0, at most 1.
pub(super) fn share() -> Kind<f64> {
    plain(number_that(|share| share > 0.0 && share <= 1.0, "a number above 0 and at most 1, such as 0.5"))
}

/// A part of a whole, from 0 to 1.
pub(super) fn ratio() -> Kind<f64> {
    plain(number_that(|ratio| (0.0..=1.0).contains(&ratio), "a number from 0 to 1, such as 0.1"))
}

fn number_that(is_valid: fn(f64) -> bool, expected: &'static str) -> impl Fn(&Given<'_>) -> Result<f64, Expected> {
    move |given| {
        let number = given.value.as_float().or_else(|| given.value.as_integer().map(|number| number as f64));
        number.filter(|&number| is_valid(number)).ok_or_else(|| found(expected, given))
    }
}

pub(super) fn address() -> Kind<SocketAddr> {
    text(|given| {
        let address = given.string().and_then(|text| text.parse().ok());
        address.ok_or_else(|| found("an IP address and a port, such as \"127.0.0.1:8080\"", given))
    })
}

pub(super) fn path() -> Kind<PathBuf> {
    let convert = |given: &Given<'_>| {
        let text = given.string().filter(|text| !text.is_empty());
        text.map(PathBuf::from).ok_or_else(|| found("the path of a folder", given))
    };
    Kind::new(convert, |path: &PathBuf| path.display().to_string())
}

/// A path, or `None` for an empty string.
pub(super) fn optional_path() -> Kind<Option<PathBuf>> {
    let convert = |given: &Given<'_>| {
        let text = given.string().ok_or_else(|| found("the path of a file", given))?;
        Ok((!text.is_empty()).then(|| text.into()))
    };
    Kind::new(convert, |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string()))
}

/// A default level, and levels of modules: `info,egress=debug`. This is stricter than the parser of
/// [`Targets`], which takes a misspelt level such as `inof` for the name of a module, and an empty
/// one for `error`.
pub(super) fn log_filter() -> Kind<Targets> {
    let level = |text: &str| text.trim().parse::<LevelFilter>().ok().filter(|_| !text.trim().is_empty());
    let parse = move |text: &str| {
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
    text(move |given| {
        let expected = "off, error, warn, info, debug or trace, then levels of modules, such as \"info,hyper=debug\"";
        given.string().and_then(parse).ok_or_else(|| found(expected, given))
    })
}

/// An absolute http or https URL to which paths are appended. Errors do not quote it, because it
/// may contain a password.
pub(super) fn base_url() -> Kind<Url> {
    const EXPECTED: &str =
        "an absolute http or https URL without user name, query and fragment, such as \"https://api.example.com/v1\"";
    let convert = |given: &Given<'_>| {
        let url = http_url(given).filter(|url| url.query().is_none() && url.fragment().is_none());
        url.ok_or_else(|| EXPECTED.to_owned())
    };
    Kind::new(convert, shown_url)
}

/// An absolute http or https URL, which may have a query, or `None` for an empty string.
pub(super) fn optional_endpoint() -> Kind<Option<Url>> {
    const EXPECTED: &str = "an absolute http or https URL without user name and fragment, or empty";
    let convert = |given: &Given<'_>| {
        if given.string() == Some("") {
            return Ok(None);
        }
        http_url(given).filter(|url| url.fragment().is_none()).map(Some).ok_or_else(|| EXPECTED.to_owned())
    };
    Kind::new(convert, |url: &Option<Url>| url.as_ref().map(shown_url))
}

fn http_url(given: &Given<'_>) -> Option<Url> {
    let url = Url::parse(given.string()?).ok()?;
    let is_plain = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    is_plain.then_some(url)
}

/// A URL without its query, which may have a key of a receiver.
pub(super) fn shown_url(url: &Url) -> String {
    let mut shown = url.clone();
    if url.query().is_some() {
        shown.set_query(Some("…"));
    }
    // The library encodes the sign for what is left out.
    shown.as_str().replace("?%E2%80%A6", "?…")
}

pub(super) fn origins() -> Kind<Vec<Origin>> {
    const EXPECTED: &str = "a list of origins, such as [\"https://app.example.com\"], without paths";
    let origin = |text: String| {
        let url = http_url(&Given::from_value(&Value::String(text)))?;
        let is_origin = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        is_origin.then(|| url.origin())
    };
    let convert = move |given: &Given<'_>| {
        let origins = texts(given).ok().and_then(|texts| texts.into_iter().map(origin).collect());
        origins.ok_or_else(|| EXPECTED.to_owned())
    };
    Kind::new(convert, |origins: &Vec<Origin>| origins.iter().map(Origin::ascii_serialization).collect::<Vec<_>>())
}

pub(super) fn strings() -> Kind<Vec<String>> {
    plain(texts)
}

pub(super) fn texts(given: &Given<'_>) -> Result<Vec<String>, Expected> {
    given
        .value
        .as_array()
        .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect())
        .ok_or_else(|| found("a list of strings, such as [\"one\", \"two\"]", given))
}

/// Addresses, and networks in the notation of CIDR.
pub(super) fn networks() -> Kind<Vec<IpNet>> {
    const EXPECTED: &str = "a list of addresses and networks, such as [\"10.0.0.7\", \"192.168.0.0/16\", \"fd00::/8\"]";
    let network = |text: &String| {
        let address = text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
        address.or_else(|| text.parse().ok())
    };
    let convert = move |given: &Given<'_>| {
        let networks = texts(given).ok().and_then(|texts| texts.iter().map(network).collect());
        networks.ok_or_else(|| EXPECTED.to_owned())
    };
    Kind::new(convert, |networks: &Vec<IpNet>| networks.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// Host names without ports, in lower case.
pub(super) fn host_names() -> Kind<Vec<String>> {
    let is_name = |name: &String| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    plain(move |given| {
        let names = texts(given)?;
        match names.iter().all(is_name) {
            true => Ok(names.iter().map(|name| name.to_ascii_lowercase()).collect()),
            false => Err("a list of host names without ports, such as [\"gateway.internal\"]".to_owned()),
        }
    })
}

/// Hosts such as `files.example.com` and `127.0.0.1:9000`, and wildcards such as `*.example.com`.
pub(super) fn link_hosts() -> Kind<Vec<String>> {
    const EXPECTED: &str = "a list of hosts, such as [\"files.example.com\", \"*.example.com\"]; a wildcard is `*.` and a registrable domain";
    plain(|given| {
        let hosts = texts(given)?;
        if hosts.iter().all(|host| is_link_host(host)) { Ok(hosts) } else { Err(EXPECTED.to_owned()) }
    })
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
