//! A part of accounts' addresses.

use contract_rules::account_address::PartForm;
use proc_macro2::TokenStream;
use quote::quote;

use crate::parse::address::{AddressPart, PartSource};

pub(super) fn part(part: &AddressPart) -> TokenStream {
    let (name, title, max_length) = (part.name.to_string(), &part.title, part.max_length);
    let form = match part.form {
        PartForm::Label => quote!(Label),
        PartForm::Host => quote!(Host),
        PartForm::Segment => quote!(Segment),
    };
    let source = match &part.source {
        PartSource::User => quote!(User),
        PartSource::Account(pointer) => quote!(Account(#pointer)),
    };
    quote!(::connector_sdk::table::AddressPart {
        name: #name,
        title: #title,
        form: ::connector_sdk::table::PartForm::#form,
        max_length: #max_length,
        source: ::connector_sdk::table::PartSource::#source,
    })
}
