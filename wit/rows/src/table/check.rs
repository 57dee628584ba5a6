//! The rules that a declaration cannot show: how an author writes fields and settings, and the fields
//! that other parts of an operation need. The crate's `check` has the rules of what is sent.

use std::borrow::Cow;

use contract_rules::schema::{Field, Kind};
use contract_rules::{Broken, name, pointer};

use super::{RequestPart, TableField, TableRow, is_file};
use crate::row::Encoding;

/// A part of a field, so that an error can point at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldPart {
    /// The name.
    Name,
    /// The type.
    Kind,
    /// The default.
    Default,
}

impl TableRow {
    /// Every rule about the author's form that a field breaks. The rules of its schema and of its
    /// part of the request are checked elsewhere.
    #[must_use]
    pub fn check_field(&self, field: &TableField) -> Vec<(FieldPart, Broken)> {
        let TableField { spec, encoding, .. } = field;
        let mut found = Vec::new();
        found.extend(name::field(&spec.name, self.envelope).err().map(|broken| (FieldPart::Name, broken)));
        if let Kind::Entries(entries) | Kind::TextEntries(entries) = &spec.kind {
            let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            let twice = names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|known| known == *name));
            if let Some((_, name)) = twice {
                found.push((FieldPart::Kind, format!("the entry `{name}` is there twice").into()));
            }
            if !matches!(self.part(field), RequestPart::Query | RequestPart::Header) {
                let rule =
                    "entries become query parameters or headers; for a member of the body write its fields in braces";
                found.push((FieldPart::Kind, rule.into()));
            }
        }
        if spec.default.is_some() && !spec.optional {
            let rule = format!("a field with a default is optional: `{}?`", spec.name);
            found.push((FieldPart::Default, rule.into()));
        }
        if *encoding != Encoding::Segment && !matches!(spec.kind, Kind::String) {
            found.push((FieldPart::Kind, "`keeps_slashes` and `odata_string` are for a string".into()));
        }
        found
    }
}

/// The rule for the type of a setting, which is a value of the configuration and no part of a request.
///
/// # Errors
/// If only a field of a row has this type.
pub fn setting_type(kind: &Kind) -> Result<(), Broken> {
    match kind {
        Kind::Entries(_) | Kind::TextEntries(_) => {
            Err("`entries` are for fields of a row; a setting takes an object with declared fields".into())
        }
        kind if is_file(kind) => Err("a `file` is for fields of a row".into()),
        _ => Ok(()),
    }
}

/// The rule for the pointer in `pages` to the field that takes the next page.
///
/// # Errors
/// If it does not lead to a field of the operation.
pub fn next_page(operation: &str, fields: &[Field], into: &str) -> Result<(), Broken> {
    let steps: Vec<_> = pointer::steps(into).collect();
    leads_to_field(operation, fields, &steps)
}

fn leads_to_field(owner: &str, fields: &[Field], steps: &[Cow<'_, str>]) -> Result<(), Broken> {
    let Some((name, rest)) = steps.split_first() else {
        return Err(format!("say which field of `{owner}` takes the next page, as in `/page`").into());
    };
    let Some(field) = fields.iter().find(|field| field.name == *name) else {
        return Err(format!("`{owner}` has no field `{name}`").into());
    };
    match (&field.kind, rest) {
        (Kind::Members(fields), rest) => leads_to_field(name, fields, rest),
        (Kind::Entries(entries) | Kind::TextEntries(entries), [entry]) => {
            let is_known = entries.iter().any(|known| known.name == *entry);
            if is_known { Ok(()) } else { Err(format!("`{name}` has no entry `{entry}`").into()) }
        }
        (Kind::Entries(_) | Kind::TextEntries(_), _) => {
            Err(format!("say which entry takes the next page: `/{name}/…`").into())
        }
        (Kind::Object, _) | (_, []) => Ok(()),
        _ => Err(format!("`{name}` is not an object").into()),
    }
}

/// The name of the field by which callers wait for an operation in the background. The gateway reads it.
pub const WAITING: &str = "waiting";

/// The rule for the fields of an operation in the background.
///
/// # Errors
/// If callers cannot wait for the operation.
pub fn background(fields: &[Field]) -> Result<(), Broken> {
    if fields.iter().any(|field| field.name == WAITING && matches!(field.kind, Kind::Boolean)) {
        return Ok(());
    }
    Err("a row with `background` has the optional field `waiting`, a boolean, by which callers wait".into())
}

#[cfg(test)]
mod tests {
    use contract_rules::schema::Entry;
    use serde_json::Value;

    use super::*;
    use crate::row::Method;

    /// The rules that a field of a row without other fields breaks.
    fn broken(change: impl FnOnce(&mut TableField)) -> Vec<(FieldPart, String)> {
        let mut field = TableField::new(Field::new("a", Kind::String));
        change(&mut field);
        let row = TableRow { fields: vec![field.clone()], ..TableRow::new(Method::Post, "/x") };
        row.check_field(&field).into_iter().map(|(part, broken)| (part, broken.to_string())).collect()
    }

    fn entries(names: &[&str]) -> Kind {
        let entry = |name: &&str| Entry { name: (*name).to_owned(), values: None, documentation: String::new() };
        Kind::Entries(names.iter().map(entry).collect())
    }

    #[test]
    fn a_field_has_a_name_that_callers_can_give() {
        assert_eq!(broken(|_| {}), []);
        for name in ["", "a-b", "response_fields"] {
            let found = broken(|field| field.spec.name = name.to_owned());
            assert!(matches!(found.as_slice(), [(FieldPart::Name, _)]), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_default_makes_a_field_optional() {
        let default = |optional| {
            move |field: &mut TableField| {
                (field.spec.default, field.spec.optional) = (Some(Value::from("b")), optional);
            }
        };
        assert_eq!(
            broken(default(false)),
            [(FieldPart::Default, "a field with a default is optional: `a?`".to_owned())]
        );
        assert_eq!(broken(default(true)), []);
    }

    #[test]
    fn a_string_alone_has_an_encoding_in_the_path() {
        for encoding in [Encoding::Path, Encoding::ODataString] {
            let encoded = |kind| move |field: &mut TableField| (field.spec.kind, field.encoding) = (kind, encoding);
            let rule = "`keeps_slashes` and `odata_string` are for a string";
            assert_eq!(broken(encoded(Kind::Integer)), [(FieldPart::Kind, rule.to_owned())]);
            assert_eq!(broken(encoded(Kind::String)), []);
        }
    }

    #[test]
    fn the_pointer_of_pages_leads_to_a_field() {
        let members = Kind::Members(vec![Field::new("start", Kind::Integer)]);
        let kinds = [("page", Kind::Integer), ("query", entries(&["q"])), ("range", members), ("open", Kind::Object)];
        let fields = kinds.map(|(name, kind)| Field::new(name, kind));
        let rule = |into| next_page("list", &fields, into).err().map(|broken| broken.to_string());
        for into in ["/page", "/query/q", "/range/start", "/open", "/open/any/where"] {
            assert_eq!(rule(into), None, "{into}");
        }
        for (into, expected) in [
            ("", "say which field of `list` takes the next page, as in `/page`"),
            ("/start", "`list` has no field `start`"),
            ("/page/start", "`page` is not an object"),
            ("/query", "say which entry takes the next page: `/query/…`"),
            ("/query/page", "`query` has no entry `page`"),
            ("/range", "say which field of `range` takes the next page, as in `/page`"),
            ("/range/end", "`range` has no field `end`"),
        ] {
            assert_eq!(rule(into).as_deref(), Some(expected));
        }
    }

    #[test]
    fn callers_wait_for_an_operation_in_the_background() {
        assert!(background(&[Field::new("waiting", Kind::Boolean)]).is_ok());
        for fields in [vec![], vec![Field::new("waiting", Kind::String)], vec![Field::new("wait", Kind::Boolean)]] {
            assert!(background(&fields).is_err_and(|broken| broken.rule().ends_with("by which callers wait")));
        }
    }

    #[test]
    fn a_setting_is_no_file_and_has_no_entries() {
        let rule = |kind| setting_type(&kind).err().map(|broken| broken.to_string());
        for kind in [Kind::String, Kind::Object, Kind::Members(Vec::new()), Kind::List(Box::new(Kind::Integer))] {
            assert_eq!(rule(kind), None);
        }
        assert!(rule(entries(&["b"])).is_some_and(|rule| rule.starts_with("`entries` are for fields of a row")));
        for kind in [Kind::File, Kind::List(Box::new(Kind::File))] {
            assert_eq!(rule(kind).as_deref(), Some("a `file` is for fields of a row"));
        }
    }

    #[test]
    fn entries_are_parameters_or_headers_of_different_names() {
        let of = |names, part| move |field: &mut TableField| (field.spec.kind, field.part) = (entries(names), part);
        for part in [None, Some(RequestPart::Query), Some(RequestPart::Header)] {
            assert_eq!(broken(of(&["b", "c"], part)), []);
            let twice = "the entry `b` is there twice".to_owned();
            assert_eq!(broken(of(&["b", "c", "b"], part)), [(FieldPart::Kind, twice)]);
        }
        for part in [RequestPart::Body, RequestPart::Path] {
            let found = broken(of(&["b"], Some(part)));
            assert!(
                matches!(found.as_slice(), [(FieldPart::Kind, rule)] if rule.starts_with("entries become")),
                "{found:?}"
            );
        }
    }
}
