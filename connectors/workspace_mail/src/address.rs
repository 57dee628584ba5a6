//! Addresses of people: `kim@example.com` or `Kim <kim@example.com>` (RFC 5322, section 3.4).

use std::fmt::{self, Write};

use email_address::EmailAddress;
use email_encoding::headers::quoted_string;
use email_encoding::headers::writer::EmailWriter;

/// One address with the name of its owner, which may be empty.
pub(crate) struct Address<'a> {
    name: String,
    address: &'a str,
}

impl<'a> Address<'a> {
    /// Reads one address. `None` for any other text, and for an address that is not ASCII.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_matches(' ');
        let (name, address) = match text.strip_suffix('>') {
            Some(named) => {
                let (name, address) = named.rsplit_once('<')?;
                (self::name(name)?, address)
            }
            None => (String::new(), text),
        };
        // The library also accepts the form with a name, which it does not take apart.
        let is_valid = !address.contains('<') && address.is_ascii() && EmailAddress::is_valid(address);
        is_valid.then_some(Self { name, address })
    }

    /// Writes the address into a header.
    pub(crate) fn write(&self, header: &mut EmailWriter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            return header.folding().write_str(self.address);
        }
        quoted_string::encode(&self.name, header)?;
        header.space();
        header.folding().write_str(&format!("<{}>", self.address))
    }
}

/// A name without its quotes. `None` if a character is outside of quotes that does not belong
/// there, such as a comma.
fn name(text: &str) -> Option<String> {
    let mut name = String::new();
    let mut is_quoted = false;
    let mut characters = text.trim_matches(' ').chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => name.push(characters.next().filter(|escaped| !escaped.is_control())?),
            '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' if !is_quoted => return None,
            control if control.is_control() => return None,
            other => name.push(other),
        }
    }
    (!is_quoted).then_some(name)
}

#[cfg(test)]
mod tests {
    use email_encoding::headers::writer::EmailWriter;

    use super::Address;

    fn written(text: &str) -> Option<String> {
        let address = Address::parse(text)?;
        let mut header = String::new();
        address.write(&mut EmailWriter::new(&mut header, 4, 0, false)).expect("text");
        Some(header)
    }

    #[test]
    fn an_address_has_its_owners_name() {
        for (text, expected) in [
            ("kim@example.com", "kim@example.com"),
            (" kim@example.com ", "kim@example.com"),
            ("<kim@example.com>", "kim@example.com"),
            ("Kim <kim@example.com>", "Kim <kim@example.com>"),
            ("Kim K. Lee <kim@example.com>", "\"Kim K. Lee\" <kim@example.com>"),
            (r#""Lee \"K\"" <kim@example.com>"#, r#""Lee \"K\"" <kim@example.com>"#),
            (r#""<x@y.test>" <kim@example.com>"#, "=?utf-8?b?PHhAeS50ZXN0Pg==?= <kim@example.com>"),
            (r#""Lee, Kim" <kim+a@example.com>"#, "=?utf-8?b?TGVlLCBLaW0=?= <kim+a@example.com>"),
            ("Käthe <kim@example.com>", "=?utf-8?b?S8OkdGhl?= <kim@example.com>"),
            (r#""a b"@example.com"#, r#""a b"@example.com"#),
        ] {
            assert_eq!(written(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn any_other_text_is_no_address() {
        for text in [
            "",
            "kim",
            "kim@",
            "@example.com",
            "a@example.com, b@example.com",
            "Lee, Kim <kim@example.com>",
            "Kim <kim@example.com> x",
            "Kim <<kim@example.com>",
            "Kim <kim@example.com",
            "\"Kim <kim@example.com>",
            "kim@example.com\r\nBcc: eve@example.com",
            "Kim\r\nBcc: eve@example.com <kim@example.com>",
            "\"Kim\\\nx\" <kim@example.com>",
            "kim\0@example.com",
            "\"k\tm\"\n@example.com",
            "käthe@example.com",
            "kim@bücher.example",
        ] {
            assert!(Address::parse(text).is_none(), "{text:?}");
        }
    }
}
