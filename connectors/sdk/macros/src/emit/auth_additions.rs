//! The further ways in which accounts get access tokens, the signatures of requests, and the codes of
//! ended grants.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::parse::table::Table;

/// The field of the static.
pub(super) fn field(table: &Table) -> TokenStream {
    match &table.auth_additions {
        Some((_, additions)) => quote!({
            use ::connector_sdk::auth::*;
            #additions
        }),
        None => quote!(&[]),
    }
}

/// The checks that only the compiler can make, because it evaluates the constants. The span makes
/// its errors point at the statement.
pub(super) fn checks(table: &Table) -> TokenStream {
    let Some((span, _)) = &table.auth_additions else { return TokenStream::new() };
    quote_spanned! {*span=>
        const _: () = ::core::assert!(
            ::connector_sdk::auth::additions::fit(&CONNECTOR.auth, CONNECTOR.auth_additions),
            "`auth_additions` need an `auth` with OAuth 2.0, whose token URL and scopes they use"
        );
        const _: () = ::core::assert!(
            ::connector_sdk::auth::additions::are_distinct(CONNECTOR.auth_additions),
            "`auth_additions` have each way once"
        );
        const _: () = ::core::assert!(
            ::connector_sdk::auth::additions::have_header(&CONNECTOR.auth, CONNECTOR.auth_additions),
            "a signature needs an `auth` with an API key, whose `placement` is the header for the signature, and which has no `form_field`"
        );
        const _: () = ::core::assert!(
            ::connector_sdk::auth::additions::have_upstreams(CONNECTOR.auth_additions, CONNECTOR.upstreams),
            "the `upstream` of an installation is the name of an upstream of the table"
        );
        const _: () = ::core::assert!(
            ::connector_sdk::auth::additions::have_paths(CONNECTOR.auth_additions),
            "the `path` of an installation begins with `/`, has no query, and has `{{installation_id}}` once, as a whole segment"
        );
        const _: () = ::core::assert!(
            ::connector_sdk::auth::additions::have_sound_codes(CONNECTOR.auth_additions),
            "`EndedCodes` are at most 32 codes of 1 to 64 visible ASCII characters, among them a letter or a digit"
        );
    }
}

/// The calls that declare them. Without declarations there are none, so that the component does not
/// import the interface. The compiler removes the second call if there are no codes.
pub(super) fn declaration(table: &Table) -> Option<TokenStream> {
    table.auth_additions.as_ref().map(|_| {
        quote! {
            ::connector_sdk::declare::auth_additions(super::CONNECTOR.auth_additions);
            if const { ::connector_sdk::auth::additions::have_ended_codes(super::CONNECTOR.auth_additions) } {
                ::connector_sdk::declare::ended_codes(super::CONNECTOR.auth_additions);
            }
        }
    })
}
