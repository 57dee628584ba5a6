//! The rules of query parameters: no parameter is sent twice, and no default and no header depends on one
//! that no caller can give.

use std::collections::{BTreeMap, BTreeSet};

use contract_rules::Broken;
use serde_json::Value;

use super::{Mistake, Place, ensure};
use crate::declaration::Declaration;
use crate::encoding::push_name;
use crate::row::{DefaultQuery, Field, Location};

/// The parameters that a row may send.
pub(super) struct Parameters<'a> {
    /// The names that the query of the path always has, as they are written there.
    fixed: BTreeSet<&'a str>,
    /// The names that fields may become, each with the index of the first such field.
    given: BTreeMap<&'a str, usize>,
    /// `true` if entries may have any name, because their schema names none.
    is_open: bool,
}

impl<'a> Parameters<'a> {
    /// The parameters of a row whose input has this schema.
    pub(super) fn of(row: &'a Declaration, input: &'a Value) -> Self {
        let query = row.path.split_once('?').map_or("", |(_, query)| query);
        let names = query.split('&').map(|parameter| parameter.split_once('=').map_or(parameter, |(name, _)| name));
        let fixed = names.filter(|name| !name.is_empty()).collect();
        let mut found = Self { fixed, given: BTreeMap::new(), is_open: false };
        for (index, field) in row.fields.iter().enumerate() {
            let names = names_of(field, input);
            found.is_open |= field.location == Location::QueryEntries && names.is_empty();
            for name in names {
                found.given.entry(name).or_insert(index);
            }
        }
        found
    }

    fn is_fixed(&self, name: &str) -> bool {
        self.fixed.contains(name) || self.fixed.contains(encoded(name).as_str())
    }

    /// Returns `true` if a caller can give the parameter.
    fn can_be_given(&self, name: &str) -> bool {
        self.is_open || self.given.contains_key(name)
    }

    /// No parameter of a field is sent in addition to the same one of the path or of an earlier field.
    pub(super) fn check_field(&self, row: &Declaration, index: usize, input: &Value) -> Result<(), Broken> {
        let names = row.fields.get(index).map(|field| names_of(field, input)).unwrap_or_default();
        for name in names {
            if self.is_fixed(name) {
                let shown = name.escape_debug();
                let rule = "the query of the path always has the parameter";
                return Err(format!("{rule} `{shown}`; leave it out in one of the two").into());
            }
            let first = self.given.get(name).filter(|first| **first < index);
            if let Some(earlier) = first.and_then(|first| row.fields.get(*first)) {
                return Err(same_place(earlier));
            }
        }
        Ok(())
    }

    /// A parameter that is sent unless the caller gives it or one of some others. A misspelt name would never be
    /// given.
    pub(super) fn check_default(&self, default: &DefaultQuery) -> Result<(), Broken> {
        check_parameter(&default.parameter)?;
        let name = default.parameter.split_once('=').map_or("", |(name, _)| name);
        let Some(own) = default.unless.iter().find(|unless| encoded(unless) == name) else {
            return Err("a default parameter is not sent if the caller gives it: `unless` has its own name".into());
        };
        ensure(!self.is_fixed(own), "the query of the path always has this parameter; leave out the default")?;
        match default.unless.iter().find(|unless| *unless != own && !self.can_be_given(unless)) {
            Some(unless) => {
                Err(format!("`unless` has `{}`, which is no parameter of the row", unless.escape_debug()).into())
            }
            None => Ok(()),
        }
    }
}

/// That a field is sent where an earlier one is.
pub(super) fn same_place(earlier: &Field) -> Broken {
    let name = earlier.name.escape_debug();
    format!("the field `{name}` is sent at the same place, or inside of it; send one of the two under another name")
        .into()
}

/// The names of the parameters that a field may become. Empty for a field that is no parameter, and for
/// entries whose schema names none.
fn names_of<'a>(field: &'a Field, input: &'a Value) -> Vec<&'a str> {
    match &field.location {
        Location::Query(name) => vec![name.as_ref()],
        Location::QueryEntries => {
            let schema = input.get("properties").and_then(|members| members.get(field.name.as_ref()));
            let entries = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
            entries.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

/// The name of a parameter as it is written into a query.
fn encoded(name: &str) -> String {
    let mut encoded = String::new();
    push_name(&mut encoded, name);
    encoded
}

/// A parameter `name=value`, encoded.
fn check_parameter(parameter: &str) -> Result<(), Broken> {
    let is_encoded = parameter.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'&' | b'#' | b'?'));
    let has_name = parameter.split_once('=').is_some_and(|(name, _)| !name.is_empty());
    ensure(is_encoded && has_name, "a parameter is `name=value`, percent-encoded")
}

/// Every `when` of a header that names a parameter which no row with this header has. Such a header would
/// never be sent. `rows` are all rows of a connector, each with the schema of its operation's input.
#[must_use]
pub fn check_triggers<'a>(rows: impl IntoIterator<Item = (&'a Declaration, &'a Value)>) -> Vec<Mistake> {
    // `true` if a row with the header has the parameter.
    let mut triggers: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    for (row, input) in rows {
        if row.headers.iter().all(|header| header.when.is_empty()) {
            continue;
        }
        let parameters = Parameters::of(row, input);
        for header in &row.headers {
            for trigger in &header.when {
                let can_be_sent = triggers.entry((header.name.as_str(), trigger.parameter.as_ref())).or_default();
                *can_be_sent |= parameters.can_be_given(&trigger.parameter);
            }
        }
    }
    let never = triggers.into_iter().filter(|(_, can_be_sent)| !can_be_sent);
    let mistake = |((header, parameter), _): ((&str, &str), bool)| {
        let parameter = parameter.escape_debug();
        let broken = format!("`when` has `{parameter}`, which is no parameter of any row with this header").into();
        Mistake { place: Place::Header(header.to_owned()), broken }
    };
    never.map(mistake).collect()
}
