//! The inboxes and the types of events, and the functions that they name.

use contract_rules::trigger::Role;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Path;

use super::operation::span_of;
use crate::parse::row::{Action, Row};
use crate::parse::table::Table;

/// The fields `inboxes` and `triggers` of the static.
pub(super) fn fields(table: &Table) -> TokenStream {
    let field = |declared: &Option<TokenStream>| match declared {
        Some(declared) => quote!({
            use ::connector_sdk::triggers::*;
            #declared
        }),
        None => quote!(&[]),
    };
    let (inboxes, triggers) = (field(&table.inboxes), field(&table.triggers));
    quote!(inboxes: #inboxes, triggers: #triggers,)
}

/// The calls that declare them. Without declarations there are none, so that the component does not
/// import the interface.
pub(super) fn declarations(table: &Table) -> TokenStream {
    let inboxes = table.inboxes.as_ref().map(|_| quote!(::connector_sdk::declare::inboxes(&super::CONNECTOR);));
    let triggers = table.triggers.as_ref().map(|_| quote!(::connector_sdk::declare::triggers(&super::CONNECTOR);));
    quote!(#inboxes #triggers)
}

/// The checks that only the compiler can make, because it evaluates the constants.
pub(super) fn checks(table: &Table) -> TokenStream {
    let internal = table.rows.iter().filter(|row| !row.broken && matches!(row.action, Action::Internal { .. }));
    let check = |row: &Row| {
        let name = &row.name.text;
        quote_spanned! {row.name.span=>
            const _: () = ::core::assert!(
                ::connector_sdk::triggers::is_named(CONNECTOR.triggers, #name),
                "a row with `internal` is for a trigger; name it in `triggers`"
            );
        }
    };
    internal.map(check).collect()
}

/// The call of a function that a type of events names. The code has the span of the function's name, so
/// that the compiler reports a wrong signature there.
pub(super) fn call(role: Role, function: &Path) -> TokenStream {
    let (input, output) = match role {
        Role::Subscribe => (quote!(Subscribe), quote!(::connector_sdk::triggers::Subscription)),
        Role::Renew => (quote!(Renew), quote!(::connector_sdk::triggers::Subscription)),
        Role::Unsubscribe => (quote!(Unsubscribe), quote!(())),
        Role::Read => (quote!(Read), quote!(::connector_sdk::triggers::Events)),
        Role::Recover => (quote!(Recover), quote!(())),
        Role::Identify => (quote!(Identify), quote!(::connector_sdk::triggers::Value)),
    };
    quote_spanned! {span_of(function)=>
        |input| ::connector_sdk::run::internal::<::connector_sdk::triggers::#input, #output>(input, #function)
    }
}
