//! The clauses of a row that have their own grammar.

use syn::parse::{Parse, ParseStream};
use syn::{Error, LitInt, LitStr, Token};

use super::{keyword, literal, word};

/// The kind of answer.
#[derive(Clone, Copy, Default)]
pub(crate) enum Answers {
    #[default]
    Json,
    File,
    Any,
}

/// `pages "/items" next cursor "/nextPageToken" into "/query/pageToken"`
pub(crate) struct Pages {
    pub(crate) items: LitStr,
    pub(crate) next: NextPage,
    pub(crate) input: LitStr,
}

/// How the next page is found.
pub(crate) enum NextPage {
    Cursor(LitStr),
    Link { pointer: LitStr, parameter: LitStr },
    PageNumber(u32),
    Offset,
    LastItem { pointer: LitStr, more: Option<LitStr> },
}

impl Parse for Answers {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const KINDS: &str = "expected `json`, `file` or `any`";
        let word = word(input, KINDS)?;
        match word.to_string().as_str() {
            "json" => Ok(Self::Json),
            "file" => Ok(Self::File),
            "any" => Ok(Self::Any),
            _ => Err(Error::new(word.span(), KINDS)),
        }
    }
}

impl Parse for Pages {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let items = literal(input, "a JSON Pointer to the items")?;
        keyword(input, "next", "expected `next` and how the next page is found")?;
        let next = input.parse()?;
        keyword(input, "into", "expected `into` and a JSON Pointer to the field that takes the next page")?;
        Ok(Self { items, next, input: literal(input, "a JSON Pointer to a field")? })
    }
}

impl Parse for NextPage {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const FORMS: &str = "expected `cursor \"/pointer\"`, `link \"/pointer\" parameter \"name\"`, `last \"/pointer\"`, \
                             `page_number 1` or `offset`";
        let kind = word(input, FORMS)?;
        match kind.to_string().as_str() {
            "cursor" => literal(input, "a JSON Pointer to the cursor").map(Self::Cursor),
            "link" => {
                let pointer = literal(input, "a JSON Pointer to the URL")?;
                keyword(input, "parameter", "expected `parameter` and the name of the URL's query parameter")?;
                Ok(Self::Link { pointer, parameter: literal(input, "the name of a query parameter")? })
            }
            "page_number" => {
                let span = input.span();
                let number = input.parse::<LitInt>().and_then(|number| number.base10_parse());
                number
                    .map(Self::PageNumber)
                    .map_err(|_: Error| Error::new(span, "expected the number of the first page"))
            }
            "offset" => Ok(Self::Offset),
            "last" => {
                let pointer = literal(input, "a JSON Pointer that leads from the last item")?;
                let more = match input.parse::<Option<Token![while]>>()? {
                    Some(_) => Some(literal(input, "a JSON Pointer to a boolean of the answer")?),
                    None => None,
                };
                Ok(Self::LastItem { pointer, more })
            }
            _ => Err(Error::new(kind.span(), FORMS)),
        }
    }
}
