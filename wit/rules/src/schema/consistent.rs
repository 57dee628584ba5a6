//! Checks that the parts of a field belong together.

use serde_json::Number;

use super::{Field, Kind};
use crate::Broken;

/// A part of a field, so that an error can point at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The type.
    Kind,
    /// The bounds.
    Bounds,
    /// The values.
    Values,
    /// The pattern.
    Pattern,
    /// The format.
    Format,
    /// The default.
    Default,
    /// The members that an object must not have.
    Without,
    /// The maximum size.
    MaxBytes,
}

impl Field {
    /// Returns `true` if the parts of the field belong together. Returns every broken rule, with
    /// the part that breaks it.
    #[must_use]
    pub fn inconsistencies(&self) -> Vec<(Part, Broken)> {
        let mut found = Vec::new();
        if let Kind::List(item) = &self.kind
            && matches!(**item, Kind::List(_) | Kind::StringOrList | Kind::Entries(_) | Kind::TextEntries(_))
        {
            found.push((Part::Kind, "a list holds strings, numbers, booleans, objects or files".into()));
        }
        if let Err(broken) = self.check_bounds() {
            found.push((Part::Bounds, broken));
        }
        let of_strings = matches!(&self.kind, Kind::String | Kind::StringOrList)
            || matches!(&self.kind, Kind::List(item) if matches!(**item, Kind::String));
        let for_strings = [
            (Part::Values, self.values.is_some(), "values are for strings and lists of strings"),
            (Part::Pattern, self.pattern.is_some(), "a pattern is for strings and lists of strings"),
            (Part::Format, self.format.is_some(), "a format is for strings and lists of strings"),
        ];
        for (part, given, rule) in for_strings {
            if given && !of_strings {
                found.push((part, rule.into()));
            }
        }
        if self.values.as_ref().is_some_and(Vec::is_empty) {
            found.push((Part::Values, "the list of values is not empty".into()));
        }
        if !self.without.is_empty() && !matches!(self.kind, Kind::Object) {
            found.push((Part::Without, "forbidden members are for objects".into()));
        }
        if self.max_bytes.is_some() && !matches!(self.kind, Kind::String | Kind::Object | Kind::Members(_)) {
            found.push((Part::MaxBytes, "a maximum size is for strings and objects".into()));
        }
        if found.is_empty()
            && let Some(default) = &self.default
            && let Err(mismatch) = self.accept(default)
        {
            found.push((Part::Default, format!("the field does not accept its default: {}", mismatch.reason).into()));
        }
        found
    }

    fn check_bounds(&self) -> Result<(), Broken> {
        let bounds = [&self.minimum, &self.maximum];
        let numbers = || bounds.into_iter().flatten();
        match &self.kind {
            _ if numbers().next().is_none() => return Ok(()),
            Kind::Number => {}
            Kind::Integer => {
                if !numbers().all(|bound| bound.is_i64() || bound.is_u64()) {
                    return Err("the bounds of an integer are whole numbers".into());
                }
            }
            Kind::String | Kind::List(_) | Kind::StringOrList => {
                if !numbers().all(Number::is_u64) {
                    return Err("the bounds of a string or list are whole numbers, at least 0".into());
                }
            }
            _ => return Err("bounds are for numbers (value), strings (characters) and lists (items)".into()),
        }
        match bounds.map(|bound| bound.as_ref().and_then(Number::as_f64)) {
            [Some(minimum), Some(maximum)] if minimum > maximum => {
                Err("the lower bound is not larger than the upper bound".into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Part;
    use crate::schema::{Field, Kind};

    fn parts(field: Field) -> Vec<Part> {
        field.inconsistencies().into_iter().map(|(part, _)| part).collect()
    }

    fn bounded(kind: Kind, minimum: &Value, maximum: &Value) -> Field {
        let number = |bound: &Value| bound.as_number().cloned();
        Field { minimum: number(minimum), maximum: number(maximum), ..Field::new("x", kind) }
    }

    #[test]
    fn bounds_belong_to_the_type() {
        assert_eq!(parts(bounded(Kind::Number, &json!(0.5), &json!(1))), []);
        assert_eq!(parts(bounded(Kind::Integer, &json!(-3), &json!(null))), []);
        for wrong in [
            bounded(Kind::Boolean, &json!(1), &json!(null)),
            bounded(Kind::Integer, &json!(0.5), &json!(null)),
            bounded(Kind::String, &json!(-1), &json!(null)),
            bounded(Kind::Integer, &json!(5), &json!(1)),
        ] {
            assert_eq!(parts(wrong.clone()), [Part::Bounds], "{wrong:?}");
        }
    }

    #[test]
    fn a_default_keeps_the_bounds_and_values() {
        let default = |field: Field, value: Value| parts(Field { default: Some(value), ..field });
        let page = bounded(Kind::Integer, &json!(1), &json!(5));
        assert_eq!(default(page.clone(), json!(5)), []);
        assert_eq!(default(page.clone(), json!(9)), [Part::Default]);
        assert_eq!(default(page, json!("x")), [Part::Default]);
        let color = Field { values: Some(vec!["red".to_owned()]), ..Field::new("x", Kind::String) };
        assert_eq!(default(color.clone(), json!("red")), []);
        assert_eq!(default(color, json!("blue")), [Part::Default]);
    }

    #[test]
    fn keywords_of_strings_are_for_strings() {
        let field =
            |kind| Field { pattern: Some("a".to_owned()), values: Some(vec!["a".to_owned()]), ..Field::new("x", kind) };
        assert_eq!(parts(field(Kind::List(Box::new(Kind::String)))), []);
        assert_eq!(parts(field(Kind::Integer)), [Part::Values, Part::Pattern]);
        assert_eq!(parts(Field { without: vec!["a".to_owned()], ..Field::new("x", Kind::String) }), [Part::Without]);
        assert_eq!(parts(Field { max_bytes: Some(1), ..Field::new("x", Kind::Boolean) }), [Part::MaxBytes]);
        assert_eq!(parts(Field::new("x", Kind::List(Box::new(Kind::StringOrList)))), [Part::Kind]);
    }
}
