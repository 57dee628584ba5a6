//! Parts of a `multipart/form-data` body (RFC 7578).

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::{Broken, ensure};

/// The media type of a file whose caller names none.
pub const OF_FILE: &str = "application/octet-stream";

/// The name of a part between quotes. Characters that could end the name are percent-encoded, as
/// browsers do. So is the equals sign, because some services look for `filename=` in the whole header.
#[must_use]
pub fn quoted_name(name: &str) -> Cow<'_, str> {
    encoded(name, |character| is_end(character) || character == '=')
}

/// The name of a file between quotes, which follows the name of its part.
#[must_use]
pub fn quoted_file_name(name: &str) -> Cow<'_, str> {
    encoded(name, is_end)
}

fn is_end(character: char) -> bool {
    matches!(character, '"' | '\\') || character.is_ascii_control()
}

fn encoded(name: &str, ends: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !name.contains(&ends) {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len() + 8);
    for character in name.chars() {
        if ends(character) {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{:02X}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// The name of a file. Services may use it as a path.
///
/// # Errors
/// The rule, as a sentence for the caller who gave the name.
pub fn file_name(name: &str) -> Result<(), Broken> {
    ensure(!name.is_empty() && name.len() <= crate::limit::FILE_NAME_BYTES, "Give a file name of 1 to 255 bytes.")?;
    ensure(
        !name.contains(|character: char| matches!(character, '/' | '\\') || character.is_control()),
        "Give a file name without folders, slashes, backslashes and control characters.",
    )?;
    ensure(!matches!(name, "." | ".."), "Give the name of a file, and not of a folder.")
}

/// The media type of a part (RFC 9110, section 8.3.1), with or without parameters.
///
/// # Errors
/// The rule, as a sentence for the caller who gave the media type.
pub fn media_type(text: &str) -> Result<(), Broken> {
    const FORM: &str = "Give a media type such as `image/png`.";
    let is_token = |text: &str| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !text.is_empty() && text.bytes().all(legal)
    };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let (kind, subtype) = essence.trim_end().split_once('/').ok_or(FORM)?;
    ensure(is_token(kind) && is_token(subtype), FORM)?;
    ensure(
        text.len() <= crate::limit::FILE_NAME_BYTES && parameters.bytes().all(|byte| matches!(byte, b' '..=b'~')),
        FORM,
    )
}

#[cfg(test)]
mod tests {
    use super::{file_name, media_type, quoted_file_name, quoted_name};

    #[test]
    fn a_name_between_quotes_cannot_end_them() {
        assert_eq!(quoted_name("card[number] ü"), "card[number] ü");
        assert_eq!(quoted_name("a\"; filename=\"x\r\nX: y\\"), "a%22; filename%3D%22x%0D%0AX: y%5C");
        assert_eq!(quoted_file_name("a=\"b\".txt"), "a=%22b%22.txt");
    }

    #[test]
    fn a_file_name_leads_into_no_folder_and_to_no_other_header() {
        for name in ["a.txt", "Ümläut \u{1F600}.pdf", "say \"hi\".txt", "..."] {
            assert!(file_name(name).is_ok(), "{name}");
        }
        let long = "x".repeat(256);
        for name in ["", ".", "..", "a/b", "..\\b", "a\r\nX: y", "a\0", "a\u{85}b", long.as_str()] {
            assert!(file_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_media_type_is_one_value_of_a_header() {
        for text in ["image/png", "text/plain; charset=utf-8", "application/vnd.acme+json;v=\"1\""] {
            assert!(media_type(text).is_ok(), "{text}");
        }
        for text in ["", "png", "image/", "/png", "image/png\r\nX: y", "image/p ng", "text/plain; x=\u{fc}", "a/b;\n"] {
            assert!(media_type(text).is_err(), "{text:?}");
        }
    }
}
