//! The fields that an object may have, and what to say about another one.

use contract::words::{nearest, shortened};
use serde_json::Value;

/// Known names in one message.
const MAX_NAMES: usize = 50;

/// The fields of an object.
#[derive(Debug, Default)]
pub struct Fields<'a> {
    names: Vec<&'a str>,
    /// Fields that are objects themselves, with the names of their fields.
    inner: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Fields<'a> {
    /// The fields that the schema of an object declares.
    pub fn of(schema: &'a Value) -> Self {
        let mut fields = Self::default();
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            fields.names.push(name);
            if let Some(inner) = field.get("properties").and_then(Value::as_object) {
                fields.inner.push((name, inner.keys().map(String::as_str).collect()));
            }
        }
        fields
    }

    /// Adds fields that the schema does not declare.
    pub fn extend(&mut self, names: &[&'a str]) {
        self.names.extend(names);
    }

    /// Returns `true` if the object may have a field of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// The sentence for a field that the object may not have: the place of the field inside another
    /// one, or the nearest name. `listed_in` says where all names are, if they are too many for a
    /// message.
    pub fn unknown(&self, name: &str, listed_in: &str) -> String {
        let shown = shortened(name);
        let place = |is_same: &dyn Fn(&str) -> bool| {
            let of =
                |(field, names): &(&'a str, Vec<&'a str>)| Some((*field, *names.iter().find(|name| is_same(name))?));
            self.inner.iter().find_map(of)
        };
        let belongs = |(field, inner): (&str, &str)| {
            format!("`{shown}` is not a field here; it belongs into `{field}`: {{\"{field}\": {{\"{inner}\": …}}}}.")
        };
        if let Some(found) = place(&|inner| inner == name) {
            return belongs(found);
        }
        if let Some(nearest) = nearest(name, self.names.iter().copied()) {
            return format!("`{shown}` is not a field here; did you mean `{nearest}`?");
        }
        let letters = letters(name);
        if let Some(found) = place(&|inner| !letters.is_empty() && self::letters(inner) == letters) {
            return belongs(found);
        }
        match self.names.len() {
            0 => format!("`{shown}` is not a field here; no fields are declared."),
            count if count > MAX_NAMES => format!("`{shown}` is not a field here; {listed_in} has the fields."),
            _ => format!("`{shown}` is not a field here; the fields are {}.", self.names.join(", ")),
        }
    }
}

/// The letters and digits of a name, which are the same for `$top` and `top`, and for `pageSize`
/// and `page_size`.
fn letters(name: &str) -> String {
    shortened(name).chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_belongs_into_another_one_is_told_so() {
        let schema = json!({"properties": {
            "owner": {"type": "string"},
            "query": {"type": "object", "properties": {"per_page": {}, "$top": {}, "ownr": {}}},
        }});
        let said = |name: &str| Fields::of(&schema).unknown(name, "the schema");
        let in_query = |name: &str, inner: &str| {
            format!("`{name}` is not a field here; it belongs into `query`: {{\"query\": {{\"{inner}\": …}}}}.")
        };
        assert_eq!(said("per_page"), in_query("per_page", "per_page"));
        assert_eq!(said("perPage"), in_query("perPage", "per_page"));
        assert_eq!(said("top"), in_query("top", "$top"));
        // The exact name is meant, although another one is near.
        assert_eq!(said("ownr"), in_query("ownr", "ownr"));
        assert_eq!(said("ownerr"), "`ownerr` is not a field here; did you mean `owner`?");
        assert_eq!(said("$"), "`$` is not a field here; the fields are owner, query.");
    }
}
