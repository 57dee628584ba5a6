//! The rules that a declaration cannot show, because they are about how its author writes a field. The
//! crate's `check` has the rules of what is sent.

use contract_rules::schema::Kind;
use contract_rules::{Broken, name};

use super::{RequestPart, TableField, TableRow};
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

#[cfg(test)]
mod tests {
    use contract_rules::schema::{Entry, Field};
    use serde_json::Value;

    use super::*;
    use crate::row::{BodyEncoding, Method};

    /// The rules that a field of a row without other fields breaks.
    fn broken(change: impl FnOnce(&mut TableField)) -> Vec<(FieldPart, String)> {
        let mut field = TableField::new(Field::new("a", Kind::String));
        change(&mut field);
        let row = TableRow {
            method: Method::Post,
            path: "/x".to_owned(),
            encoding: BodyEncoding::Json,
            fields: vec![field.clone()],
            fixed_body: Vec::new(),
            default_query: Vec::new(),
            default_query_unless: Vec::new(),
            envelope: true,
        };
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
