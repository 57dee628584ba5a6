//! The `connector!` table of the connector SDK. Its grammar is documented at
//! `connector_sdk::connector`.
//!
//! # Layout
//! - `parse`: from tokens to the table, with one module for each level of the table.
//! - `check`: the rules between the parts of a table. The crate `contract_rules` has the rules of
//!   the contract, and the crate `rows` has the rules of rows.
//! - `emit`: the Rust code of the table, mostly constant data.
//! - `errors`: the mistakes of a table. The parser and the checks report all of them, each at the
//!   wrong word. The macro still emits the rest of the table, so that one mistake causes only one
//!   message.

mod check;
mod emit;
mod errors;
mod parse;

use proc_macro::TokenStream;

/// Declares a connector. See `connector_sdk::connector`, which re-exports it.
#[proc_macro]
pub fn connector(input: TokenStream) -> TokenStream {
    let mut errors = errors::Errors::default();
    let mut table = parse::table(input.into(), &mut errors);
    check::check(&mut table, &mut errors);
    let mut output = errors.into_tokens();
    output.extend(emit::table(&table));
    output.into()
}
