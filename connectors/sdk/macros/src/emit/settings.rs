//! The settings: their declarations, and a function for each that reads its value.

use proc_macro2::TokenStream;
use quote::quote;

use super::input;
use crate::parse::field::Field;
use crate::parse::table::Table;

pub(super) fn setting(setting: &Field) -> TokenStream {
    let (name, documentation) = (&setting.spec.name, &setting.spec.documentation);
    // The default and the documentation are separate members of the declaration.
    let mut spec = setting.spec.clone();
    spec.default = None;
    spec.documentation = String::new();
    let schema = spec.schema().to_string();
    let default = super::optional_text(setting.spec.default.as_ref().map(ToString::to_string));
    quote!(::connector_sdk::table::Setting {
        name: #name,
        schema: #schema,
        default: #default,
        documentation: #documentation,
    })
}

/// The module `settings`. `None` if the table declares no settings.
pub(super) fn functions(table: &Table) -> Option<TokenStream> {
    if table.settings.is_empty() {
        return None;
    }
    let functions = input::distinct(&table.settings).map(|setting| {
        let (name, documentation) = (&setting.spec.name, &setting.spec.documentation);
        let (function, plain) = (input::rust_name(setting), input::rust_type(&setting.spec.kind));
        let (result, read) = match &setting.spec.default {
            Some(default) => {
                let default = default.to_string();
                (plain, quote!(get(#name, #default)))
            }
            None => (quote!(::core::option::Option<#plain>), quote!(find(#name))),
        };
        quote! {
            #[doc = #documentation]
            ///
            /// # Errors
            /// [`Fault::Failed`](::connector_sdk::Fault::Failed) if the value is not of the
            /// declared type.
            pub fn #function() -> ::core::result::Result<#result, ::connector_sdk::Fault> {
                ::connector_sdk::config::#read
            }
        }
    });
    Some(quote! {
        /// The operator's settings for this connector.
        #[allow(dead_code, reason = "settings in paths and headers need no function")]
        pub mod settings { #(#functions)* }
    })
}
