//! The fields of an event or a span.

use std::fmt;

use serde_json::Value;
use tracing::field::{Field, Visit};

/// The field that holds the message of an event.
const MESSAGE: &str = "message";

/// Fields in the order in which they were recorded, with the message in a separate field.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) named: Vec<(&'static str, Recorded)>,
}

/// The value of one field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Recorded {
    /// A string. It is quoted in a text line.
    Text(String),
    /// The output of `Display` or `Debug`. It is not quoted in a text line.
    Formatted(String),
    /// A number or a boolean.
    Plain(Value),
}

impl Fields {
    fn add(&mut self, field: &Field, value: Recorded) {
        match self.named.iter_mut().find(|(name, _)| *name == field.name()) {
            Some((_, previous)) => *previous = value,
            None => self.named.push((field.name(), value)),
        }
    }

    fn plain(&mut self, field: &Field, value: impl Into<Value>) {
        self.add(field, Recorded::Plain(value.into()));
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == MESSAGE {
            value.clone_into(&mut self.message);
        } else {
            self.add(field, Recorded::Text(value.to_owned()));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == MESSAGE {
            self.message = format!("{value:?}");
        } else {
            self.add(field, Recorded::Formatted(format!("{value:?}")));
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.plain(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.plain(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.plain(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain(field, value);
    }
}
