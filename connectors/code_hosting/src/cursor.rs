//! The cursor of a list: opaque to callers, and valid only with the other fields of the request
//! that it came from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use connector_sdk::Fault;
use serde::{Deserialize, Serialize};

/// Maximum length of a query. GitHub repeats the parameters of the first request in it.
const MAX_QUERY: usize = 8 << 10;

/// The position of a page in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// The query of the page, as GitHub gave it. It is not the number of the page, because GitHub
    /// numbers the pages of the first 10,000 issues only.
    pub(crate) next: String,
    /// Maximum number of items in a page.
    pub(crate) per_page: u32,
    /// Fingerprint of the fields that decide which items the list has, and in which order.
    pub(crate) fingerprint: u64,
}

impl Cursor {
    /// The text for callers.
    pub(crate) fn text(&self) -> Result<String, Fault> {
        let json = serde_json::to_vec(self).map_err(|error| Fault::Failed(error.to_string()))?;
        Ok(URL_SAFE_NO_PAD.encode(json))
    }

    /// Reads the text that a caller gave.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if it is not a cursor, or belongs to a list with another
    /// fingerprint.
    pub(crate) fn parse(text: &str, fingerprint: u64) -> Result<Self, Fault> {
        let json = URL_SAFE_NO_PAD.decode(text).ok();
        let cursor: Option<Self> = json.and_then(|json| serde_json::from_slice(&json).ok());
        match cursor {
            Some(cursor)
                if is_query(&cursor.next)
                    && (1..=100).contains(&cursor.per_page)
                    && cursor.fingerprint == fingerprint =>
            {
                Ok(cursor)
            }
            Some(cursor) if cursor.fingerprint != fingerprint => Err(refused(
                "Give the same other fields as in the call that answered this cursor, or leave the cursor out to start at the first page.",
            )),
            _ => Err(refused(
                "Give the `next_cursor` of the previous answer unchanged, or leave it out to start at the first page.",
            )),
        }
    }
}

/// Returns `true` for a query that a path may have. A caller can make up a cursor, and the query is
/// sent as it is.
fn is_query(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'#' | b'\\');
    (1..=MAX_QUERY).contains(&text.len()) && text.bytes().all(is_allowed)
}

fn refused(detail: &str) -> Fault {
    Fault::invalid_input("/page_cursor", detail)
}

#[cfg(test)]
mod tests {
    use super::{Cursor, MAX_QUERY};

    fn cursor(next: &str) -> Cursor {
        Cursor { next: next.to_owned(), per_page: 50, fingerprint: u64::MAX }
    }

    #[test]
    fn a_cursor_is_valid_for_its_own_list_only() {
        let cursor = cursor("per_page=50&after=Y3Vyc29yOnYyOpK5%3D%3D&page=3");
        let text = cursor.text().expect("a cursor");
        assert_eq!(Cursor::parse(&text, u64::MAX).expect("the same"), cursor);
        assert!(Cursor::parse(&text, 7).is_err());
        for nonsense in ["", "x", "e30", "eyJuZXh0IjoiIn0", &text[1..]] {
            assert!(Cursor::parse(nonsense, u64::MAX).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn a_made_up_query_is_refused() {
        for next in ["", "page=2#x", "page=2 x", "page=2\r\nX: y", "a=\\", "ü=1", &"x".repeat(MAX_QUERY + 1)] {
            let text = cursor(next).text().expect("a cursor");
            assert!(Cursor::parse(&text, u64::MAX).is_err(), "{next}");
        }
        let longest = cursor(&"x".repeat(MAX_QUERY));
        assert_eq!(Cursor::parse(&longest.text().expect("a cursor"), u64::MAX).expect("the same"), longest);
    }
}
