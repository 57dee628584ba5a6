//! The text of a message (RFC 5322, RFC 2045 to 2047, and RFC 2231 for names of files).
//!
//! Every body is in base64. Gmail adds the date, the Message-ID, and the sender if the message has
//! no sender.

use std::borrow::Cow;
use std::fmt::{self, Write};

use email_encoding::body::base64;
use email_encoding::headers::writer::EmailWriter;
use email_encoding::headers::{rfc2047, rfc2231};

use crate::address::Address;
use crate::attachment::Attachment;
use crate::html;

/// Maximum length of a line of base64 (RFC 2045, section 6.8).
const LINE: usize = 76;

/// Maximum length of a word that a header has in plain text. Longer words are encoded, so that
/// every line can be folded.
const MAX_WORD: usize = 70;

/// The beginning of an encoded word (RFC 2047).
const ENCODED_WORD: &str = "=?";

/// Length of a file name's piece after which the next piece begins in a new line. A character takes
/// at most 12 bytes.
const MAX_PIECE: usize = 48;

/// A message whose parts have been checked.
pub(crate) struct Message<'a> {
    pub(crate) from: Vec<Address<'a>>,
    pub(crate) to: Vec<Address<'a>>,
    pub(crate) cc: Vec<Address<'a>>,
    pub(crate) bcc: Vec<Address<'a>>,
    pub(crate) subject: Option<&'a str>,
    /// Message-ID of the message that this one answers.
    pub(crate) in_reply_to: Option<&'a str>,
    /// Plain text, or HTML.
    pub(crate) body: Option<&'a str>,
    pub(crate) attachments: Vec<Attachment<'a>>,
}

/// A part of a message.
enum Part<'a> {
    Text { subtype: &'static str, text: Cow<'a, str> },
    File { disposition: &'static str, file: &'a Attachment<'a> },
    Multipart { subtype: &'static str, parts: Vec<Part<'a>> },
}

impl Message<'_> {
    /// Writes the message.
    pub(crate) fn write(&self) -> Result<String, fmt::Error> {
        let mut message = String::with_capacity(self.most_bytes());
        for (name, addresses) in [("From", &self.from), ("To", &self.to), ("Cc", &self.cc), ("Bcc", &self.bcc)] {
            if !addresses.is_empty() {
                header(&mut message, name, |header| list(header, addresses))?;
            }
        }
        if let Some(subject) = self.subject {
            header(&mut message, "Subject", |header| text(header, subject))?;
        }
        if let Some(id) = self.in_reply_to {
            header(&mut message, "In-Reply-To", |header| header.write_str(id))?;
            header(&mut message, "References", |header| header.write_str(id))?;
        }
        message.push_str("MIME-Version: 1.0\r\n");
        self.content().write(&mut message)?;
        Ok(message)
    }

    /// The body, together with the attachments.
    fn content(&self) -> Part<'_> {
        let is_html = self.body.is_some_and(html::is_html);
        let is_inline = |file: &&Attachment<'_>| is_html && file.content_id.is_some();
        let inline = self.attachments.iter().filter(is_inline);
        let inline: Vec<Part<'_>> = inline.map(|file| Part::File { disposition: "inline", file }).collect();
        let body = self.body.map(|body| if is_html { alternative(body, inline) } else { plain(body) });
        if self.attachments.is_empty() {
            return body.unwrap_or_else(|| plain(""));
        }
        let attached = self.attachments.iter().filter(|file| !is_inline(file));
        let attached = attached.map(|file| Part::File { disposition: "attachment", file });
        Part::Multipart { subtype: "mixed", parts: body.into_iter().chain(attached).collect() }
    }

    /// An upper bound for the size of most messages, so that a large one is not copied while it
    /// grows.
    fn most_bytes(&self) -> usize {
        let lines = |length: usize| length + length / LINE * 2 + 4;
        let files = self.attachments.iter().map(|file| 1024 + file.file_name.len() * 4 + lines(file.content.len()));
        // HTML is sent together with its plain text, and base64 adds a third to both.
        let body = self.body.map_or(0, |body| lines(body.len() * 3));
        let recipients = self.to.len() + self.cc.len() + self.bcc.len();
        4096 + recipients * 128 + self.subject.map_or(0, |subject| subject.len() * 2) + body + files.sum::<usize>()
    }
}

fn plain(text: &str) -> Part<'_> {
    Part::Text { subtype: "plain", text: Cow::Borrowed(text) }
}

/// HTML with the files that it refers to, and the same as plain text.
fn alternative<'a>(html: &'a str, files: Vec<Part<'a>>) -> Part<'a> {
    let text = Part::Text { subtype: "plain", text: Cow::Owned(html::text(html)) };
    let mut html = Part::Text { subtype: "html", text: Cow::Borrowed(html) };
    if !files.is_empty() {
        let parts = std::iter::once(html).chain(files).collect();
        html = Part::Multipart { subtype: "related", parts };
    }
    Part::Multipart { subtype: "alternative", parts: vec![text, html] }
}

impl Part<'_> {
    /// Writes the headers of the part, and its body.
    fn write(&self, message: &mut String) -> fmt::Result {
        match self {
            Self::Text { subtype, text } => {
                write!(message, "Content-Type: text/{subtype}; charset=utf-8\r\n{BASE64}")?;
                // Lines of a text end with CR and LF, also within base64 (RFC 2045, section 6.8).
                base64::encode(text.replace("\r\n", "\n").replace('\n', "\r\n").as_bytes(), message)?;
                message.write_str("\r\n")
            }
            Self::File { disposition, file } => {
                write!(message, "Content-Type: {}\r\n", file.content_type)?;
                file_disposition(message, disposition, &file.file_name)?;
                if let Some(id) = &file.content_id {
                    write!(message, "Content-ID: <{id}>\r\n")?;
                }
                message.push_str(BASE64);
                lines(message, &file.content);
                Ok(())
            }
            Self::Multipart { subtype, parts } => {
                // A line of base64 has no `=` at its beginning and no `_`, and a header's line does
                // not begin with `--`. So no line of a part is a boundary. The multipart parts
                // within one another have different subtypes.
                write!(message, "Content-Type: multipart/{subtype}; boundary=\"=_{subtype}\"\r\n")?;
                for part in parts {
                    write!(message, "\r\n--=_{subtype}\r\n")?;
                    part.write(message)?;
                }
                write!(message, "\r\n--=_{subtype}--\r\n")
            }
        }
    }
}

/// The last header of a part, and the end of its headers.
const BASE64: &str = "Content-Transfer-Encoding: base64\r\n\r\n";

/// Writes base64 without padding in lines, with padding.
fn lines(message: &mut String, base64: &str) {
    let mut rest = base64;
    while rest.len() > LINE {
        let (line, after) = rest.split_at(LINE);
        message.push_str(line);
        message.push_str("\r\n");
        rest = after;
    }
    message.push_str(rest);
    message.extend(std::iter::repeat_n('=', (4 - rest.len() % 4) % 4));
    message.push_str("\r\n");
}

/// Writes a header. The writer folds long lines.
fn header(message: &mut String, name: &str, value: impl FnOnce(&mut EmailWriter<'_>) -> fmt::Result) -> fmt::Result {
    write!(message, "{name}: ")?;
    value(&mut EmailWriter::new(message, name.len() + 2, 0, false))?;
    message.write_str("\r\n")
}

/// Writes the disposition of a file, with its name as RFC 2231 says.
fn file_disposition(message: &mut String, disposition: &str, file_name: &str) -> fmt::Result {
    if !file_name.contains(ENCODED_WORD) {
        return header(message, "Content-Disposition", |header| {
            write!(header, "{disposition};")?;
            header.space();
            rfc2231::encode("filename", file_name, header)
        });
    }
    // Many readers decode such a name in quotes, against RFC 2047.
    write!(message, "Content-Disposition: {disposition};")?;
    let mut characters = file_name.chars();
    for piece in 0.. {
        let mut value = String::new();
        while value.len() < MAX_PIECE
            && let Some(character) = characters.next()
        {
            match character {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '.' | '_' => value.push(character),
                other => {
                    for byte in other.encode_utf8(&mut [0; 4]).bytes() {
                        write!(value, "%{byte:02X}")?;
                    }
                }
            }
        }
        let charset = if piece == 0 { "utf-8''" } else { "" };
        write!(message, "\r\n filename*{piece}*={charset}{value}")?;
        if characters.as_str().is_empty() {
            break;
        }
        message.push(';');
    }
    message.write_str("\r\n")
}

fn list(header: &mut EmailWriter<'_>, addresses: &[Address<'_>]) -> fmt::Result {
    for (index, address) in addresses.iter().enumerate() {
        if index > 0 {
            header.write_char(',')?;
            header.space();
        }
        address.write(header)?;
    }
    Ok(())
}

/// Text is encoded (RFC 2047) unless every reader takes the plain text as it is.
fn text(header: &mut EmailWriter<'_>, text: &str) -> fmt::Result {
    let is_word =
        |word: &str| !word.is_empty() && word.len() <= MAX_WORD && word.bytes().all(|byte| byte.is_ascii_graphic());
    if text.split(' ').all(is_word) && !text.contains(ENCODED_WORD) {
        header.folding().write_str(text)
    } else {
        rfc2047::encode(text, header)
    }
}
