//! A part of accounts' addresses: `address subdomain: label(..=63) from user;`

use contract_rules::account_address::PartForm;
use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitInt, LitStr, Token, parenthesized};

use super::{keyword, literal, word};

pub(crate) struct AddressPart {
    pub(crate) name: Ident,
    /// The documentation comment, which is the name for people.
    pub(crate) title: String,
    pub(crate) form: PartForm,
    pub(crate) max_length: u32,
    pub(crate) length_span: Span,
    pub(crate) source: PartSource,
}

/// The source of the value.
pub(crate) enum PartSource {
    User,
    /// A JSON Pointer into an answer about the account.
    Account(LitStr),
}

impl Parse for AddressPart {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const FORM: &str = "expected a part such as `subdomain: label(..=63) from user`";
        const FORMS: &str = "expected `label`, `host` or `segment`";
        const SOURCE: &str =
            "expected `from user`, or `from \"/pointer\"` for a value in the service's answer about the account";
        let name = word(input, "expected the name of a part of the account's address")?;
        let span = input.span();
        input.parse::<Token![:]>().map_err(|_| Error::new(span, FORM))?;
        let kind = word(input, FORMS)?;
        let form = match kind.to_string().as_str() {
            "label" => PartForm::Label,
            "host" => PartForm::Host,
            "segment" => PartForm::Segment,
            _ => return Err(Error::new(kind.span(), FORMS)),
        };
        let (mut max_length, mut length_span) = (form.most(), kind.span());
        if input.peek(syn::token::Paren) {
            const BOUND: &str = "expected the maximum number of characters, as in `label(..=30)`";
            length_span = input.span();
            let content;
            parenthesized!(content in input);
            content.parse::<Token![..=]>().map_err(|_| Error::new(length_span, BOUND))?;
            let number = content.parse::<LitInt>().and_then(|number| number.base10_parse());
            max_length = number.map_err(|_: Error| Error::new(length_span, BOUND))?;
            if !content.is_empty() {
                return Err(Error::new(length_span, BOUND));
            }
        }
        keyword(input, "from", SOURCE)?;
        let source = if input.peek(LitStr) {
            PartSource::Account(literal(input, "a JSON Pointer")?)
        } else {
            keyword(input, "user", SOURCE)?;
            PartSource::User
        };
        Ok(Self { name, title: String::new(), form, max_length, length_span, source })
    }
}
