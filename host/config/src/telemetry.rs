//! The settings of `[telemetry]`: spans and metrics for an OpenTelemetry collector.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use url::Url;

use super::declare::{Entry, settings};
use super::kind::{Shown, or_empty};
use super::list::List;
use super::section::Section;
use super::value::{self, base_url, name, ratio, seconds};
use egress::secret_header;

settings! {
    /// Spans and metrics for an OpenTelemetry collector.
    #[derive(Clone, Debug)]
    pub struct Telemetry {
        /// The collector's base URL. `None`: nothing is recorded and nothing is sent.
        pub endpoint: Option<Url> = None => "endpoint": or_empty(base_url());
        /// The part of the traces that begin here which is recorded. A caller's `traceparent`
        /// decides about its own trace.
        pub sampling_ratio: f64 = 1.0 => "sampling_ratio": ratio();
        /// The name of this gateway at the collector.
        pub service_name: String = "connector-gateway".to_owned() => "service_name": name();
        /// Time between two exports of the metrics.
        pub metrics_interval: Duration = Duration::from_secs(60) => "metrics_interval_s": seconds(1..=3600);
        /// Headers of requests to the collector. Secret, because collectors take keys in them.
        pub headers: BTreeMap<String, HeaderValue> = BTreeMap::new() => "headers": Headers;
    }
}

/// Headers by their names.
struct Headers;

impl Entry<BTreeMap<String, HeaderValue>> for Headers {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut BTreeMap<String, HeaderValue>) {
        section.each(key, |name, headers| {
            if HeaderName::try_from(name).is_err() {
                headers.refuse(name, "is not the name of a header");
                return;
            }
            let mut secret = None;
            headers.value(name, &mut secret, |given| value::secret().convert(given));
            match secret.map(|secret| secret_header(&secret)) {
                None => {}
                Some(Err(_)) => headers.problem(name, "has a character that headers cannot have".to_owned()),
                Some(Ok(value)) => drop(target.insert(name.to_owned(), value)),
            }
        });
    }

    fn show(&self, list: &mut List, key: &'static str, headers: &BTreeMap<String, HeaderValue>) {
        list.section(key, |list| {
            for name in headers.keys() {
                list.add(name, Shown::Secret(true));
            }
        });
    }
}
