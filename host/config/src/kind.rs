//! The kinds of values: how a key of this kind is read, and how operators see its value. Both use
//! the unit of the key.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use secrecy::SecretString;
use serde_json::Value as Json;
use tracing_subscriber::filter::Targets;
use url::{Origin, Url};

use super::section::{Expected, Given};
use super::value;
use memory::MemoryBudget;

/// A kind of values.
pub(super) struct Kind<T> {
    convert: Box<dyn Fn(&Given<'_>) -> Result<T, Expected>>,
    show: Box<dyn Fn(&T) -> Shown>,
}

/// The form of a value that operators see.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    /// The value as in the file, or null if it is not set.
    Value(Json),
    /// A secret: `true` if it is set.
    Secret(bool),
}

impl<T: Into<Json>> From<T> for Shown {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl<T> Kind<T> {
    fn new<S: Into<Shown>>(
        convert: impl Fn(&Given<'_>) -> Result<T, Expected> + 'static,
        show: impl Fn(&T) -> S + 'static,
    ) -> Self {
        Self { convert: Box::new(convert), show: Box::new(move |value| show(value).into()) }
    }

    /// Converts a value of the file or of a variable.
    pub(super) fn convert(&self, given: &Given<'_>) -> Result<T, Expected> {
        (self.convert)(given)
    }

    /// Converts a value for operators.
    pub(super) fn shown(&self, value: &T) -> Shown {
        (self.show)(value)
    }
}

/// Values that the file has in the same form as the gateway.
fn plain<T: Clone + Into<Json> + 'static>(convert: impl Fn(&Given<'_>) -> Result<T, Expected> + 'static) -> Kind<T> {
    Kind::new(convert, T::clone)
}

/// Values that the file has as text.
fn text<T: ToString + 'static>(convert: impl Fn(&Given<'_>) -> Result<T, Expected> + 'static) -> Kind<T> {
    Kind::new(convert, T::to_string)
}

/// Whole numbers of a unit. `of` converts a number of the unit to the value, and `amount` converts
/// the value to a number.
fn amount<T: 'static>(range: RangeInclusive<i64>, of: fn(u64) -> T, amount: fn(&T) -> u64) -> Kind<T> {
    let number = value::integer(range);
    Kind::new(move |given| number(given).map(of), amount)
}

/// A value that may be absent.
pub(super) fn optional<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    let Kind { convert, show } = kind;
    Kind::new(move |given| convert(given).map(Some), move |value| value.as_ref().map_or(Json::Null.into(), &show))
}

/// A value that is absent if the text of the key is empty.
pub(super) fn or_empty<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    let Kind { convert, show } = optional(kind);
    Kind { convert: Box::new(move |given| if given.string() == Some("") { Ok(None) } else { convert(given) }), show }
}

/// One of several words, each with its value. The empty word is shown as null.
pub(super) fn choice<T: Copy + PartialEq + 'static>(
    expected: &'static str,
    words: &'static [(&'static str, T)],
) -> Kind<T> {
    let word_of = |value: &T| words.iter().find(|(_, other)| other == value).map(|(word, _)| *word);
    Kind::new(
        move |given| {
            let chosen = words.iter().find(|(word, _)| given.string() == Some(word));
            chosen.map(|(_, value)| *value).ok_or_else(|| value::found(expected, given))
        },
        move |value| word_of(value).filter(|word| !word.is_empty()),
    )
}

pub(super) fn string() -> Kind<String> {
    plain(value::string)
}

pub(super) fn name() -> Kind<String> {
    plain(value::name)
}

pub(super) fn strings() -> Kind<Vec<String>> {
    plain(value::strings)
}

pub(super) fn host_names() -> Kind<Vec<String>> {
    plain(value::host_names)
}

pub(super) fn link_hosts() -> Kind<Vec<String>> {
    plain(value::link_hosts)
}

pub(super) fn boolean() -> Kind<bool> {
    plain(value::boolean)
}

pub(super) fn share() -> Kind<f64> {
    plain(value::share)
}

pub(super) fn ratio() -> Kind<f64> {
    plain(value::ratio)
}

/// A whole number within bounds. The bounds must fit into `T`.
pub(super) fn integer<T: TryFrom<i64> + Clone + Into<Json> + 'static>(range: RangeInclusive<i64>) -> Kind<T> {
    plain(value::integer(range))
}

/// A maximum, or `None` for 0.
pub(super) fn maximum(range: RangeInclusive<i64>) -> Kind<Option<usize>> {
    let number = value::integer(range);
    plain(move |given| number(given).map(|maximum| Some(maximum).filter(|&maximum| maximum > 0)))
}

pub(super) fn milliseconds(range: RangeInclusive<i64>) -> Kind<Duration> {
    amount(range, Duration::from_millis, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

pub(super) fn seconds(range: RangeInclusive<i64>) -> Kind<Duration> {
    amount(range, Duration::from_secs, Duration::as_secs)
}

/// Hours, which may have decimals.
pub(super) fn hours() -> Kind<Duration> {
    Kind::new(value::hours, in_hours)
}

pub(super) fn whole_hours(range: RangeInclusive<i64>) -> Kind<Duration> {
    let number = value::integer::<u64>(range);
    Kind::new(move |given| Ok(Duration::from_secs(number(given)? * 3600)), in_hours)
}

fn in_hours(time: &Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}

pub(super) fn days(range: RangeInclusive<i64>) -> Kind<Duration> {
    amount(range, |days| Duration::from_secs(days * 86_400), |time| time.as_secs() / 86_400)
}

pub(super) fn kibibytes(range: RangeInclusive<i64>) -> Kind<usize> {
    let number = value::integer::<usize>(range);
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

pub(super) fn address() -> Kind<SocketAddr> {
    text(value::address)
}

pub(super) fn networks() -> Kind<Vec<IpNet>> {
    Kind::new(value::networks, |networks| networks.iter().map(ToString::to_string).collect::<Vec<_>>())
}

pub(super) fn log_filter() -> Kind<Targets> {
    text(value::log_filter)
}

pub(super) fn path() -> Kind<PathBuf> {
    Kind::new(value::path, |path| path.display().to_string())
}

pub(super) fn optional_path() -> Kind<Option<PathBuf>> {
    Kind::new(value::optional_path, |path| path.as_ref().map(|path| path.display().to_string()))
}

pub(super) fn origins() -> Kind<Vec<Origin>> {
    Kind::new(value::origins, |origins| origins.iter().map(Origin::ascii_serialization).collect::<Vec<_>>())
}

pub(super) fn base_url() -> Kind<Url> {
    Kind::new(value::base_url, shown_url)
}

pub(super) fn optional_endpoint() -> Kind<Option<Url>> {
    Kind::new(value::optional_endpoint, |url| url.as_ref().map(shown_url))
}

pub(super) fn database_url() -> Kind<Option<SecretString>> {
    Kind::new(value::database_url, |url| Shown::Secret(url.is_some()))
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
