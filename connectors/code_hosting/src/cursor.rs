//! The cursor of a list: opaque to callers, and valid only with the other fields of the request that it came from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use connector_sdk::Fault;
use serde::{Deserialize, Serialize};

/// The position of a page in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// Number of the page. The first page has number 1.
    pub(crate) page: u32,
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
    /// [`Fault::InvalidInput`] if it is not a cursor, or belongs to a list with another fingerprint.
    pub(crate) fn parse(text: &str, fingerprint: u64) -> Result<Self, Fault> {
        let json = URL_SAFE_NO_PAD.decode(text).ok();
        let cursor: Option<Self> = json.and_then(|json| serde_json::from_slice(&json).ok());
        match cursor {
            Some(cursor)
                if cursor.page > 0 && (1..=100).contains(&cursor.per_page) && cursor.fingerprint == fingerprint =>
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

fn refused(detail: &str) -> Fault {
    Fault::invalid_input("/page_cursor", detail)
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn a_cursor_is_valid_for_its_own_list_only() {
        let cursor = Cursor { page: 3, per_page: 50, fingerprint: u64::MAX };
        let text = cursor.text().expect("a cursor");
        assert_eq!(Cursor::parse(&text, u64::MAX).expect("the same"), cursor);
        assert!(Cursor::parse(&text, 7).is_err());
        for nonsense in ["", "x", "e30", "eyJwYWdlIjowfQ", &text[1..]] {
            assert!(Cursor::parse(nonsense, u64::MAX).is_err(), "{nonsense}");
        }
    }
}
