//! Paths and headers with names in braces.

use contract_rules::schema::Kind;
use syn::LitStr;

use crate::errors::Errors;
use crate::parse::row::{self, Piece, Row, SETTINGS};
use crate::parse::table::Table;

/// Checks that braces are closed, and that every placeholder is a setting or a field of `row`.
pub(super) fn check(table: &Table, literal: &LitStr, row: Option<&Row>, errors: &mut Errors) {
    let pieces = match row::pieces(&literal.value()) {
        Ok(pieces) => pieces,
        Err(problem) => return errors.at(literal.span(), problem),
    };
    for piece in pieces {
        let Piece::Placeholder(name) = piece else { continue };
        match name.strip_prefix(SETTINGS) {
            Some(setting) => check_setting(table, literal, setting, errors),
            None if row.is_none() => {
                errors.at(
                    literal.span(),
                    format!("`{{{name}}}` is not a setting; a header may have `{{settings.name}}` only"),
                );
            }
            // The check of the field covers the name itself.
            None => {}
        }
    }
}

fn check_setting(table: &Table, literal: &LitStr, setting: &str, errors: &mut Errors) {
    match table.settings.iter().find(|known| known.spec.name == setting) {
        None => errors.at(
            literal.span(),
            format!("there is no setting `{setting}`; declare it: `setting {setting}: string default \"…\";`"),
        ),
        Some(known) if matches!(known.spec.kind, Kind::String | Kind::Integer | Kind::Number | Kind::Boolean) => {}
        Some(_) => errors.at(literal.span(), format!("the setting `{setting}` is not a string, a number or a boolean")),
    }
}

/// The template with a letter in place of each name, for the rules about paths.
pub(super) fn filled(template: &str) -> String {
    let starts_with_setting = template.starts_with(&format!("{{{SETTINGS}"));
    let pieces = row::pieces(template).unwrap_or_default();
    let text = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.as_str(),
        Piece::Placeholder(_) => "x",
    });
    // The value of a setting at the beginning of a path begins with `/` itself.
    starts_with_setting.then_some("/").into_iter().chain(text).collect()
}
