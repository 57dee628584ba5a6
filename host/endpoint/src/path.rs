//! Paths of requests: the form in which they are compared, and the part that belongs to a service.

use std::borrow::Cow;

/// The part after the upstream in a path below `/proxy/`, as the caller has written it. The route
/// was found with the decoded path. Decoding adds no slash, so both paths have the same parts.
pub fn below_upstream(path: &str) -> Option<&str> {
    path.splitn(5, '/').nth(4)
}

/// A path in which percent-encoded characters that need no encoding are decoded, as in
/// `code%5Fhosting`. Both forms are the same path (RFC 3986, section 6.2.2.2).
pub fn normalized(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut normal = String::with_capacity(path.len());
    let mut pieces = path.split('%');
    normal.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).map(char::from);
        match decoded
            .filter(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~'))
        {
            Some(character) => {
                normal.push(character);
                normal.push_str(piece.get(2..).unwrap_or_default());
            }
            None => {
                normal.push('%');
                normal.push_str(piece);
            }
        }
    }
    Cow::Owned(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_encoding_is_decoded() {
        for (given, expected) in [
            ("/connectors/wood%5Fwork/list%5fissues", "/connectors/wood_work/list_issues"),
            ("/connectors/%77ood_work", "/connectors/wood_work"),
            ("/a%2Fb/%41%2e%7E", "/a%2Fb/A.~"),
            ("/%C3%A9%20%25", "/%C3%A9%20%25"),
            ("/%/%2/%zz%5", "/%/%2/%zz%5"),
            ("/plain", "/plain"),
        ] {
            assert_eq!(normalized(given), expected);
        }
    }
}
