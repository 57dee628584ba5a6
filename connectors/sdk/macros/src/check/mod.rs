//! The rules between the parts of a table. Every mistake is reported at the wrong word. The message
//! says what to write.
//!
//! # Layout
//! - here: the head and the statements.
//! - `address`: the parts of accounts' addresses, and the sites of upstreams.
//! - `row`: one operation.
//! - `field`: one field.

mod address;
mod field;
mod row;

use contract_rules::address::{base_url, link_host};
use contract_rules::{limit, name};
use rows::table::setting_type;

use crate::errors::Errors;
use crate::parse::field::Field;
use crate::parse::statement::Links;
use crate::parse::table::Table;

/// Reports all mistakes of a table, and marks the rows that have one.
pub(crate) fn check(table: &mut Table, errors: &mut Errors) {
    check_head(table, errors);
    check_upstreams(table, errors);
    address::check(table, errors);
    for (index, setting) in table.settings.iter().enumerate() {
        check_setting(setting, table.settings.get(..index).unwrap_or_default(), errors);
    }
    for (index, (name, _)) in table.entries.iter().enumerate() {
        if table.entries.iter().take(index).any(|(known, _)| known.text == name.text) {
            errors.at(name.span, format!("`{}` is described twice", name.text));
        }
    }
    let settings = row::settings(table);
    for header in &table.headers {
        for mistake in rows::check_headers(&[header.without_spans()], &settings) {
            errors.at(header.name.span(), mistake);
        }
    }
    let broken: Vec<bool> = table
        .rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let before = errors.count();
            let earlier = table.rows.get(..index).unwrap_or_default();
            if earlier.iter().any(|known| known.name.text == row.name.text) {
                errors.at(row.name.span, format!("`{}` is declared twice", row.name.text));
            }
            // The parser has already reported these mistakes.
            if !row.broken {
                row::check(table, row, errors);
            }
            errors.count() > before
        })
        .collect();
    if errors.count() == 0 {
        row::check_triggers(table, errors);
    }
    for (row, broken) in table.rows.iter_mut().zip(broken) {
        row.broken |= broken;
    }
}

fn check_head(table: &Table, errors: &mut Errors) {
    let Some(head) = &table.head else { return };
    errors.rule(head.identifier.span(), name::identifier(&head.identifier.to_string()));
    let before = errors.count();
    if table.auth.is_none() && before == 0 {
        errors.at(table.span(), "say how users authenticate: `auth Auth::None;` if they need no account");
    }
    if table.rows.is_empty() && before == 0 {
        errors.at(table.span(), "a connector has at least one operation");
    }
    if table.rows.len() > limit::OPERATIONS {
        errors.at(table.span(), format!("a connector has at most {} operations", limit::OPERATIONS));
    }
}

fn check_upstreams(table: &Table, errors: &mut Errors) {
    for (index, upstream) in table.upstreams.iter().enumerate() {
        let earlier = table.upstreams.iter().take(index);
        let url = upstream.base_url.value();
        if url.ends_with('/') {
            errors.at(upstream.base_url.span(), "a base URL has no `/` at its end: paths begin with one");
        } else {
            let names: Vec<String> = earlier.map(|known| known.name.to_string()).collect();
            if names.iter().any(|known| upstream.name == known) {
                errors.at(upstream.name.span(), format!("`{}` is declared twice", upstream.name));
            }
            let texts = self::address::Texts::of(table);
            let example = texts.additions().example_url(&url, Some(&upstream.name.to_string()));
            let names = names.iter().map(String::as_str);
            errors.rule(upstream.base_url.span(), example.and_then(|url| base_url(&url, names)));
        }
        // The test of the manifest checks the hosts of a constant.
        if let Links::Hosts(hosts) = &upstream.links {
            for host in hosts {
                errors.rule(host.span(), link_host(&host.value()));
            }
        }
    }
    if let Some(upstream) = table.upstreams.get(limit::UPSTREAMS) {
        errors.at(upstream.name.span(), format!("a connector has at most {} upstreams", limit::UPSTREAMS));
    }
}

fn check_setting(setting: &Field, earlier: &[Field], errors: &mut Errors) {
    let name = &setting.spec.name;
    errors.rule(setting.name_span, name::setting(name));
    if earlier.iter().any(|known| known.spec.name == *name) {
        errors.at(setting.name_span, format!("`{name}` is declared twice"));
    }
    if setting.spec.optional {
        errors.at(setting.name_span, "a setting has no `?`: the operator may always leave it out");
    }
    if setting.spec.documentation.is_empty() {
        errors.at(setting.name_span, "say in a `///` comment what the operator sets with this");
    }
    if let Some(span) = setting.row_modifier {
        errors.at(span, "this modifier is for fields of a row");
    }
    errors.rule(setting.kind_span, setting_type(&setting.spec.kind));
    field::check_type(setting, errors);
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;
    use serde_json::Value;

    use super::check;
    use crate::errors::Errors;

    /// The messages about a table with these statements and rows.
    fn mistakes(more: &str) -> Vec<String> {
        let table = format!(
            "connector example \"Example\"; auth Auth::None; upstream api \"https://api.example.com\";\n\
             /// A setting\nsetting version: string;\n/// A list\nsetting list: [string];\n{more}"
        );
        let tokens: TokenStream = table.parse().expect("tokens");
        let mut errors = Errors::default();
        let mut table = crate::parse::table(tokens, &mut errors);
        check(&mut table, &mut errors);
        errors.messages()
    }

    /// The SDKs for other languages and `connector.toml` have the same list. The tests in `tests/ui`
    /// of the SDK show where a message points.
    #[test]
    fn mistakes_have_the_words_that_they_have_in_other_languages() {
        let shared = include_str!("../../../tests/shared/mistakes.json");
        let shared: Value = serde_json::from_str(shared).expect("JSON");
        let list = |name: &str| shared[name].as_array().expect("a list").clone();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let (rows, fields, headers, settings) = (list("rows"), list("fields"), list("headers"), list("settings"));
        assert!(rows.len() > 35 && fields.len() > 4 && headers.len() > 4 && settings.len() > 4);
        // The compiler points at the field, so the message does not name it.
        for wrong in rows.iter().chain(&fields) {
            let row = format!("/// A row\none: {};", text(&wrong["rust"]));
            assert_eq!(mistakes(&row), [text(&wrong["mistake"])], "{row}");
        }
        let row = "/// A row\none: GET api \"/x\";";
        for wrong in headers {
            let [name, value] = [0, 1].map(|index| text(&wrong["header"][index]));
            assert_eq!(mistakes(&format!("header {name:?} {value:?};\n{row}")), [text(&wrong["mistake"])]);
        }
        for wrong in settings {
            let setting = format!("/// A\nsetting s: {};\n{row}", text(&wrong["rust"]));
            let rule = text(&wrong["mistake"]).replace("setting `s`: ", "");
            assert_eq!(mistakes(&setting), [rule], "{setting}");
        }
    }
}
