//! The path of a request. The gateway appends it to a base URL, and it must not lead out of it.

use std::borrow::Cow;

use crate::limit::PATH_BYTES;
use crate::{Broken, ensure};

/// The sentence for a caller whose values make a path and query of more than [`PATH_BYTES`].
pub const TOO_LONG: &str = "The path and query of a request to the service, which these values are put into, must have at \
                            most 16384 bytes. Shorten the values.";

/// Checks a path with its query.
///
/// # Errors
/// The rule that the path breaks.
pub fn check(path: &str) -> Result<(), Broken> {
    ensure(path.len() <= PATH_BYTES, "a path has at most 16384 bytes")?;
    ensure(path.is_empty() || path.starts_with(['/', '?']), "a path begins with `/`")?;
    ensure(!path.starts_with("//"), "a path does not begin with `//`")?;
    if let Some(byte) = path.bytes().find(|byte| !byte.is_ascii_graphic() || matches!(byte, b'\\' | b'#')) {
        let what = match byte {
            b'\\' => "a backslash",
            b'#' => "a fragment",
            b' ' => "a space",
            0x80.. => "a character beyond ASCII",
            _ => "a control character",
        };
        return Err(format!("a path does not hold {what}; percent-encode it").into());
    }
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    ensure(!has_control_character(path), "a path does not hold a control character, in any encoding")?;
    ensure(!has_dot_segment(path), "a path has no segments `.` or `..`, in any encoding")
}

/// Returns `true` if a path without its query has a segment `.` or `..` (RFC 3986, section 5.2.4).
///
/// Reads the path as the most lenient server would: it decodes percent-encoding, repeatedly if
/// necessary, takes encoded slashes and backslashes as separators, lets an encoded question mark or
/// number sign end the path, and takes the text after a semicolon as parameters of the segment.
#[must_use]
pub fn has_dot_segment(path: &str) -> bool {
    let mut dots = 0;
    let mut other = false;
    let mut parameters = false;
    for &byte in decoded(path).iter() {
        match byte {
            b'/' | b'\\' => {
                if !other && (dots == 1 || dots == 2) {
                    return true;
                }
                (dots, other, parameters) = (0, false, false);
            }
            // A server may decode them before it looks for the query or the fragment.
            b'?' | b'#' if !other && (dots == 1 || dots == 2) => return true,
            b';' => parameters = true,
            _ if parameters => {}
            b'.' => dots += 1,
            _ => other = true,
        }
    }
    !other && (dots == 1 || dots == 2)
}

/// Returns `true` if a path without its query has a control character, percent-encoded any number
/// of times. Some servers end the path or the line there.
#[must_use]
pub fn has_control_character(path: &str) -> bool {
    decoded(path).iter().any(u8::is_ascii_control)
}

/// The path with percent-encoding undone until nothing is left of it.
///
/// The digits of an encoded byte may be encoded themselves: `%2%65` becomes `%2e`, and then a dot.
/// So each byte that is decoded may complete another one, which begins before it.
fn decoded(path: &str) -> Cow<'_, [u8]> {
    if !path.contains('%') {
        return Cow::Borrowed(path.as_bytes());
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(path.len());
    for byte in path.bytes() {
        bytes.push(byte);
        while let [.., b'%', high, low] = bytes.as_slice()
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            bytes.truncate(bytes.len() - 3);
            bytes.push(high * 16 + low);
        }
    }
    Cow::Owned(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::{check, has_dot_segment};

    #[test]
    fn ordinary_paths_pass() {
        let paths = [
            "",
            "/",
            "?a=1",
            "/a",
            "/a/b.json?x=..&y=/../z",
            "/.well-known",
            "/a..b/...",
            "/a.",
            "/..a",
            "/a%2Fb",
            "/%",
            "/%zz",
            "/100%25",
            "/a;v=.",
            "/{id}",
            "/a//b",
            "/a%3F",
            "/why%3F../b%23.",
        ];
        for path in paths {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn dot_segments_are_refused_in_every_encoding() {
        let paths = [
            "/.",
            "/..",
            "/../a",
            "/a/..",
            "/a/../b",
            "/a/./b",
            "/%2e",
            "/%2E%2e/a",
            "/.%2e/a",
            "/%2e./a",
            "/a/..?x",
            "/a%2f..%2fb",
            "/a%5C..%5cb",
            "/a%2f..",
            "/%252e%252e/a",
            "/%25252e./a",
            "/..;/a",
            "/..;x=1",
            "/.%3bx",
            "/a/..%3Fx",
            "/%2e%23",
            "/..%253f/a",
            "/%2%65./a",
            "/a/%%32e%2%45",
            "/.%2%35%32e/b",
        ];
        for path in paths {
            assert!(check(path).is_err(), "{path}");
        }
    }

    #[test]
    fn control_characters_are_refused_in_every_encoding() {
        for path in
            ["/a%00", "/a%0d%0aHost:x", "/%0A", "/a%7F", "/a%2500", "/a%25250a", "/%1b/b?c", "/a%0%61", "/%%30%30"]
        {
            assert!(check(path).unwrap_err().to_string().contains("control character"), "{path}");
        }
        for path in ["/a%20b", "/%7E", "/a?b=%0A%00"] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
    }

    #[test]
    fn dots_inside_of_a_name_are_no_dot_segment() {
        for path in ["", "a.b", "...", "a..b", "%41", "100%", "%2", "a;v=.", "%zz..", "\u{e9}%"] {
            assert!(!has_dot_segment(path), "{path}");
        }
    }

    #[test]
    fn a_path_cannot_change_the_host_or_the_request() {
        let paths = [
            "a",
            "@evil.test/",
            ".evil.test",
            ":80@evil.test",
            "//evil.test/a",
            "\\\\evil.test",
            "/\\evil.test",
            "/a\\b",
            "/a#b",
            "/a b",
            "/a\r\nHost: x",
            "/a\n",
            "/a\tb",
            "/a\0",
            "/ä",
            "/a?b=\u{7f}",
        ];
        for path in paths {
            assert!(check(path).is_err(), "{path:?}");
        }
        assert!(check(&format!("/{}", "a".repeat(16 * 1024))).is_err());
    }
}
