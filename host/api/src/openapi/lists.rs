//! The parameters of lists that have pages.

use serde_json::{Value, json};

use super::gateway::filter;
use super::schemas::reference;
use endpoint::lists::{Parameter, Values};
use endpoint::page::Sizes;

/// The parameters in the query of a list with these filters.
pub(super) fn parameters(sizes: Sizes, filters: &[Parameter]) -> Value {
    let limit = json!({"type": "integer", "minimum": 1, "maximum": sizes.max, "default": sizes.default});
    let mut parameters = vec![
        filter("limit", limit, "The size of a page."),
        filter("cursor", json!({"type": "string"}), "The `next_cursor` of the previous page."),
    ];
    parameters.extend(filters.iter().map(parameter));
    parameters.into()
}

fn parameter(declared: &Parameter) -> Value {
    if let Values::Labels = declared.values {
        return json!({
            "name": declared.name.trim_end_matches('.'), "in": "query", "style": "form", "explode": true,
            "schema": {"type": "object", "additionalProperties": {"type": "string"}},
            "description": declared.about,
        });
    }
    let mut schema = declared.schema.map_or_else(|| schema(declared.values), reference);
    if let Some(default) = declared.default {
        schema["default"] = default.into();
    }
    filter(declared.name, schema, declared.about)
}

fn schema(values: Values) -> Value {
    match values {
        Values::Text | Values::Labels => json!({"type": "string"}),
        Values::Url => json!({"type": "string", "format": "uri"}),
        Values::Time => json!({"type": "string", "format": "date-time"}),
        Values::Number(first, last) => json!({"type": "integer", "minimum": first, "maximum": last}),
        Values::OneOf(names) => json!({"type": "string", "enum": names()}),
        Values::True => json!({"type": "boolean", "enum": [true]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::records;
    use crate::routes::ROUTES;
    use endpoint::route::Query;

    #[test]
    fn a_filter_has_a_sentence_and_the_values_of_the_schema_that_it_names() {
        let schemas = records::schemas();
        let endpoints = ROUTES.iter().copied().flatten().flat_map(|route| route.methods);
        let mut count = 0;
        for endpoint in endpoints {
            let Query::Page(_, filters) = endpoint.query else { continue };
            for filter in filters() {
                count += 1;
                assert!(filter.about.starts_with(char::is_uppercase) || filter.about.starts_with('`'), "{filter:?}");
                assert!(filter.about.ends_with('.'), "{filter:?}");
                if let (Some(schema), Values::OneOf(names)) = (filter.schema, filter.values) {
                    assert_eq!(schemas[schema]["enum"], json!(names()), "{filter:?}");
                }
            }
        }
        assert!(count > 40, "{count}");
    }
}
