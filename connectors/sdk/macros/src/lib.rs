//! The `connector!` table of the connector SDK. Its grammar is documented at `connector_sdk::connector`.
//!
//! # Layout
//! - `table`, `row`, `field`, `json`: the table as it is written, one module a level.
//! - `check`: what must hold between its parts; every error points at the word that is wrong.
//! - `schema`: the JSON Schema of a row, made here so that the module carries it as text.
//! - `emit`, `input`: the Rust code of the table, constant data wherever possible, and the input types of its functions.

mod check;
mod emit;
mod field;
mod input;
mod json;
mod row;
mod schema;
mod table;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Declares a connector; see `connector_sdk::connector`, which re-exports it.
#[proc_macro]
pub fn connector(input: TokenStream) -> TokenStream {
    let table = syn::parse_macro_input!(input as table::Table);
    match check::check(&table) {
        Ok(()) => emit::table(&table).into(),
        Err(error) => error.into_compile_error().into(),
    }
}
