//! Where a list goes on: opaque to callers, and good only for the request that it came from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use connector_sdk::Fault;
use serde::{Deserialize, Serialize};

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// Its number, from 1.
    pub(crate) page: u32,
    /// Items of a page.
    pub(crate) per_page: u32,
    /// Of all that decides what the list holds, and in which order.
    pub(crate) fingerprint: u64,
}

impl Cursor {
    /// As a caller sees it.
    pub(crate) fn text(&self) -> Result<String, Fault> {
        let json = serde_json::to_vec(self).map_err(|error| Fault::Failed(error.to_string()))?;
        Ok(URL_SAFE_NO_PAD.encode(json))
    }

    /// The cursor that a caller gives back, if it belongs to the list with this fingerprint.
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
                "Give the same other fields as in the call that this cursor came from, or leave it out to begin anew.",
            )),
            _ => Err(refused("Give the `next_cursor` of the previous answer as it is, or leave it out to begin anew.")),
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
    fn a_cursor_comes_back_to_its_own_list_only() {
        let cursor = Cursor { page: 3, per_page: 50, fingerprint: u64::MAX };
        let text = cursor.text().expect("a cursor");
        assert_eq!(Cursor::parse(&text, u64::MAX).expect("the same"), cursor);
        assert!(Cursor::parse(&text, 7).is_err());
        for nonsense in ["", "x", "e30", "eyJwYWdlIjowfQ", &text[1..]] {
            assert!(Cursor::parse(nonsense, u64::MAX).is_err(), "{nonsense}");
        }
    }
}
