//! The sealed part of a delivery: its URL and its body. A URL may contain a secret, so the store does not see it.

/// Separates the two. A URL has no line feed.
const SEPARATOR: u8 = b'\n';

/// The bytes to seal.
pub(super) fn join(url: &str, body: &[u8]) -> Vec<u8> {
    [url.as_bytes(), &[SEPARATOR], body].concat()
}

/// The URL and the body, or `None` if the bytes do not come from [`join`].
pub(super) fn split(content: &[u8]) -> Option<(&str, &[u8])> {
    let end = content.iter().position(|byte| *byte == SEPARATOR)?;
    let (url, rest) = content.split_at_checked(end)?;
    Some((std::str::from_utf8(url).ok()?, rest.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_and_body_come_back_unchanged() {
        for body in ["", "{}", "\n", "{\n}\n"] {
            assert_eq!(
                split(&join("https://a.example/", body.as_bytes())),
                Some(("https://a.example/", body.as_bytes()))
            );
        }
        assert_eq!(split(b"https://a.example/"), None);
    }
}
