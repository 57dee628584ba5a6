//! The rules for a path that is appended to a base URL, so that it cannot lead out of it.

use super::error::EgressError;

/// Longest path with its query, in bytes.
pub const MAX_PATH: usize = 16 * 1024;

/// # Errors
/// `InvalidRequest` that says which rule the path breaks.
pub(super) fn check(path: &str) -> Result<(), EgressError> {
    if path.len() > MAX_PATH {
        return Err(EgressError::invalid(format!("a path has at most {MAX_PATH} bytes")));
    }
    if !(path.is_empty() || path.starts_with(['/', '?'])) {
        return Err(EgressError::invalid("a path begins with `/`"));
    }
    if path.starts_with("//") {
        return Err(EgressError::invalid("a path does not begin with `//`"));
    }
    let bytes = path.as_bytes();
    if let Some(&byte) = bytes.iter().find(|byte| !byte.is_ascii_graphic() || matches!(byte, b'\\' | b'#')) {
        let what = match byte {
            b'\\' => "a backslash",
            b'#' => "a fragment",
            b' ' => "a space",
            0x80.. => "a character beyond ASCII",
            _ => "a control character",
        };
        return Err(EgressError::invalid(format!("a path does not hold {what}: percent-encode it")));
    }
    let end = bytes.iter().position(|byte| *byte == b'?').unwrap_or(bytes.len());
    if has_dot_segment(&bytes[..end]) {
        return Err(EgressError::invalid("a path has no segments `.` or `..`, however they are encoded"));
    }
    Ok(())
}

/// Looks at a path as the most lenient server would: percent-encoding undone, repeatedly if need be; encoded slashes and
/// backslashes counted as separators; and what follows a semicolon in a segment taken for its parameters.
fn has_dot_segment(path: &[u8]) -> bool {
    let mut dots = 0;
    let mut other = false;
    let mut parameters = false;
    let mut rest = path;
    while !rest.is_empty() {
        let byte;
        (byte, rest) = decode(rest);
        match byte {
            b'/' | b'\\' => {
                if !other && (dots == 1 || dots == 2) {
                    return true;
                }
                (dots, other, parameters) = (0, false, false);
            }
            b';' => parameters = true,
            _ if parameters => {}
            b'.' => dots += 1,
            _ => other = true,
        }
    }
    !other && (dots == 1 || dots == 2)
}

/// The first byte with percent-encoding undone, and what comes after it. `path` is not empty.
fn decode(path: &[u8]) -> (u8, &[u8]) {
    let mut byte = path[0];
    let mut rest = &path[1..];
    while byte == b'%'
        && let [high, low, after @ ..] = rest
        && let (Some(high), Some(low)) = (hex(*high), hex(*low))
    {
        byte = high * 16 + low;
        rest = after;
    }
    (byte, rest)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::check;

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
        ];
        for path in paths {
            assert!(check(path).is_err(), "{path}");
        }
    }

    #[test]
    fn what_could_change_the_host_or_the_request_is_refused() {
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
