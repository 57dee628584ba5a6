//! The text of a body, whose bytes are in a charset.

mod code_pages;
mod escapes;
mod label;
mod parameter;

use label::Decoder;

/// Returns `true` if ASCII has its usual bytes in the charset that a `Content-Type` names. A body
/// that is UTF-8 is then read as UTF-8.
pub(crate) fn keeps_ascii(content_type: Option<&str>) -> bool {
    let named = content_type.and_then(parameter::charset).and_then(|name| Decoder::named(&name));
    named.is_none_or(Decoder::keeps_ascii)
}

/// Decodes a body.
///
/// Gmail hands text out as UTF-8, and leaves the `Content-Type` of the sender as it is. So bytes
/// above 7F that are valid UTF-8 are UTF-8. Other bytes are in the charset that the `Content-Type`
/// names. Without a known charset they are UTF-8. Bytes that are not a character become U+FFFD.
pub(crate) fn decode(bytes: Vec<u8>, content_type: Option<&str>) -> String {
    let is_ascii = bytes.is_ascii();
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if !is_ascii => return text,
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let named = content_type.and_then(parameter::charset).and_then(|name| Decoder::named(&name));
    match named {
        // Gmail's UTF-8 of a text that was UTF-16. As UTF-16, ASCII has zero bytes.
        Some(decoder) if !(decoder.is_wide() && is_ascii && !bytes.contains(&0)) => decoder.decode(&bytes),
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests;
