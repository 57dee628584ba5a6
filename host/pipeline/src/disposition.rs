//! The header `Content-Disposition` (RFC 6266).

use contract_rules::text::is_hidden;
use hyper::header::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything but `attr-char` of RFC 5987.
const NOT_ATTR_CHAR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// The header for a download of this name. A name that is not plain ASCII is also there as
/// `filename*`; `filename` then has `_` for the other characters.
pub(super) fn attachment(name: &str) -> Option<HeaderValue> {
    let is_plain = |character: char| matches!(character, ' '..='~') && !"\"\\".contains(character);
    let plain = name.replace(|character| !is_plain(character), "_");
    let extended = if plain == name {
        String::new()
    } else {
        format!("; filename*=UTF-8''{}", utf8_percent_encode(name, NOT_ATTR_CHAR))
    };
    HeaderValue::try_from(format!("attachment; filename=\"{plain}\"{extended}")).ok()
}

/// The file name in a header, without folders. `filename*` wins over `filename`.
pub fn file_name(header: &HeaderValue) -> Option<String> {
    let text = std::str::from_utf8(header.as_bytes()).ok()?;
    let parameters = parameters(text.split_once(';')?.1);
    let find = |wanted: &str| {
        parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
    };
    cleaned(&find("filename*").and_then(extended).or_else(|| find("filename").map(str::to_owned))?)
}

/// The name of a file without folders, and without characters that are not seen. `None` if nothing
/// is left that could name a file.
pub(super) fn cleaned(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next()?;
    let name: String = name.chars().filter(|character| !is_hidden(*character)).collect();
    let name = name.trim();
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

/// The parameters of a header value, without quotes.
fn parameters(mut text: &str) -> Vec<(&str, String)> {
    let mut parameters = Vec::new();
    while let Some((name, rest)) = text.split_once('=') {
        let rest = rest.trim_start();
        let (value, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let end = rest.find(';').unwrap_or(rest.len());
                (rest[..end].trim_end().to_owned(), &rest[end..])
            }
        };
        parameters.push((name.trim_matches([';', ' ', '\t']), value));
        text = after;
    }
    parameters
}

/// The content of a quoted string, and the text behind it.
fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return (value, &text[index + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => value.push(character),
        }
    }
    (value, "")
}

/// Decodes an extended value of RFC 5987, such as `UTF-8''na%C3%AFve.txt`.
fn extended(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, encoded) = rest.split_once('\'')?;
    let bytes = percent_decode_str(encoded);
    if charset.eq_ignore_ascii_case("utf-8") {
        return bytes.decode_utf8().ok().map(|text| text.into_owned());
    }
    // The bytes of ISO-8859-1 are the first 256 characters of Unicode.
    charset.eq_ignore_ascii_case("iso-8859-1").then(|| bytes.map(char::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_is_written_in_quotes_and_any_other_also_in_percent_encoding() {
        for (name, header) in [
            ("paper 1.pdf", r#"attachment; filename="paper 1.pdf""#),
            ("naïve.txt", r#"attachment; filename="na_ve.txt"; filename*=UTF-8''na%C3%AFve.txt"#),
            ("a\"b\\c", r#"attachment; filename="a_b_c"; filename*=UTF-8''a%22b%5Cc"#),
            ("a\r\nb", r#"attachment; filename="a__b"; filename*=UTF-8''a%0D%0Ab"#),
            ("報告", r#"attachment; filename="__"; filename*=UTF-8''%E5%A0%B1%E5%91%8A"#),
        ] {
            assert_eq!(attachment(name).unwrap(), header);
        }
    }

    #[test]
    fn a_name_is_read_in_every_form() {
        for (header, name) in [
            ("attachment; filename=report.pdf", "report.pdf"),
            (r#"inline; FileName = "a; b=c\".pdf" ; size=3"#, "a; b=c\".pdf"),
            ("attachment; filename=\"fallback\"; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
            ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
            ("attachment; filename*=utf-8''%FF; filename=fallback", "fallback"),
            ("attachment; filename=\"../etc/passwd\"", "passwd"),
            (r#"attachment; filename="C:\\dir\\file.txt""#, "file.txt"),
            ("attachment; filename*=UTF-8''a%E2%80%AEfdp.exe%0D%0A", "afdp.exe"),
            ("attachment; filename=na\u{ef}ve", "na\u{ef}ve"),
        ] {
            assert_eq!(file_name(&HeaderValue::try_from(header).unwrap()).as_deref(), Some(name), "{header}");
        }
        for header in [
            "attachment",
            "attachment; filename=",
            "attachment; filename=\"dir/\"",
            "x; filename*=utf-8'a",
            "x; filename=..",
        ] {
            assert_eq!(file_name(&HeaderValue::try_from(header).unwrap()), None, "{header}");
        }
    }

    #[test]
    fn a_name_that_was_written_is_read_again() {
        for name in ["paper 1.pdf", "naïve %.txt", "a\"b;c='d'", "報告"] {
            assert_eq!(file_name(&attachment(name).unwrap()).as_deref(), Some(name));
        }
    }
}
