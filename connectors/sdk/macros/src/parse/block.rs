//! The fields in braces, and the fields that rows share.

use syn::parse::ParseStream;
use syn::{Error, Ident, Token, braced};

use super::field::Field;
use super::{skip_item, word};
use crate::errors::Errors;

/// An item of a block.
pub(crate) enum Item {
    Field(Box<Field>),
    /// `..name`: the fields of a `fields` statement.
    Shared(Ident),
}

/// `{ a: string, ..paging }`
pub(crate) fn parse(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Vec<Item>> {
    let content;
    braced!(content in input);
    Ok(items(&content, errors))
}

/// The items of a block. An item that is wrong is reported and left out.
pub(crate) fn items(content: ParseStream<'_>, errors: &mut Errors) -> Vec<Item> {
    let mut items = Vec::new();
    while !content.is_empty() {
        let item = item(content, errors);
        items.extend(errors.note(item));
        if !content.is_empty() && !content.peek(Token![,]) {
            skip_item(content);
        }
        errors.note(content.parse::<Option<Token![,]>>());
    }
    items
}

fn item(content: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Item> {
    if !content.peek(Token![..]) {
        return Field::parse(content, errors).map(|field| Item::Field(Box::new(field)));
    }
    content.parse::<Token![..]>()?;
    let name = word(content, "expected the name of a `fields` statement")?;
    if content.is_empty() || content.peek(Token![,]) {
        return Ok(Item::Shared(name));
    }
    Err(Error::new(content.span(), "expected `,` and the next field"))
}
