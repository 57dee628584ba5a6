//! The section of a component with the schemas of its answers.
//!
//! They are not a part of the manifest, because a gateway holds the manifests of all live
//! connectors, and the schemas are large and seldom needed. A gateway reads them from the file of
//! the module each time they are asked for.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use thiserror::Error;

use crate::provenance::add_section;
use contract::{AnswerSchemaError, AnswerSchemas, MAX_ANSWER_SCHEMAS_BYTES};

/// The name of the section.
const SECTION: &str = "answer-schemas";

/// The number of a custom section.
const CUSTOM: u8 = 0;

/// The bytes in front of the first section.
const HEADER_BYTES: u64 = 8;

/// The most bytes of a number of 32 bits.
const MAX_NUMBER_BYTES: u64 = 5;

/// Maximum size of the section: so much larger can a module be because of it.
pub const MAX_SECTION_BYTES: usize = 20 << 10;

/// Why a component has no schemas of answers that can be used. Each message is one line.
#[derive(Debug, Error)]
pub enum SectionError {
    /// The section is too large.
    #[error(
        "the answer schemas take {size} bytes of the module, over the limit of {MAX_SECTION_BYTES}; leave out descriptions and \
         members, or let operations share parts in `$defs`"
    )]
    TooLarge {
        /// Its size, compressed.
        size: u64,
    },
    /// The section is there more than once.
    #[error("the module has more than one section `{SECTION}`")]
    Repeated,
    /// It is not text that was compressed with zlib.
    #[error("the section `{SECTION}` of the module cannot be read: {0}")]
    NotReadable(#[from] io::Error),
    /// The schemas break a rule.
    #[error(transparent)]
    Schemas(#[from] AnswerSchemaError),
}

/// Reads the schemas of a component, from its first byte on. The rest of the component is skipped,
/// so that reading them from a file takes no memory for it. `None` if it has none.
///
/// # Errors
/// See [`SectionError`].
pub fn read(component: &mut (impl Read + Seek)) -> Result<Option<AnswerSchemas>, SectionError> {
    component.seek(SeekFrom::Start(HEADER_BYTES))?;
    let mut found = None;
    while let Some(id) = next_byte(component)? {
        let (size, _) = number(component)?;
        let (name_length, bytes) = match id {
            CUSTOM => number(component)?,
            _ => (0, 0),
        };
        let mut rest = size.saturating_sub(bytes);
        if id == CUSTOM && name_length == SECTION.len() as u64 && rest >= name_length {
            let mut name = [0; SECTION.len()];
            component.read_exact(&mut name)?;
            rest -= name_length;
            if name == *SECTION.as_bytes() {
                if found.is_some() {
                    return Err(SectionError::Repeated);
                }
                found = Some(schemas_in(component, rest)?);
                continue;
            }
        }
        component.seek_relative(i64::try_from(rest).unwrap_or(i64::MAX))?;
    }
    Ok(found)
}

/// The schemas in the content of a section of this size.
fn schemas_in(component: &mut impl Read, size: u64) -> Result<AnswerSchemas, SectionError> {
    if size > MAX_SECTION_BYTES as u64 {
        return Err(SectionError::TooLarge { size });
    }
    let mut data = Vec::new();
    component.take(size).read_to_end(&mut data)?;
    let mut text = String::new();
    // One byte more than the limit, so that a longer text is refused as such.
    ZlibDecoder::new(&*data).take(MAX_ANSWER_SCHEMAS_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(AnswerSchemas::parse(&text)?)
}

/// The next byte. `None` at the end.
fn next_byte(component: &mut impl Read) -> io::Result<Option<u8>> {
    let mut byte = [0];
    match component.read_exact(&mut byte) {
        Ok(()) => Ok(Some(byte[0])),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// A number in the encoding of WebAssembly (LEB128), and how many bytes it takes.
fn number(component: &mut impl Read) -> io::Result<(u64, u64)> {
    let mut number = 0;
    for place in 0..MAX_NUMBER_BYTES {
        let byte = next_byte(component)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok((number, place + 1));
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "a number has too many bytes"))
}

/// Adds the schemas to a component, which should not have them yet.
///
/// # Errors
/// If they take more than a module may have.
pub fn write(schemas: &AnswerSchemas, component: &mut Vec<u8>) -> Result<(), SectionError> {
    let data = compressed(schemas)?;
    if data.len() > MAX_SECTION_BYTES {
        return Err(SectionError::TooLarge { size: data.len() as u64 });
    }
    add_section(component, SECTION, &data);
    Ok(())
}

fn compressed(schemas: &AnswerSchemas) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(schemas.to_json().as_bytes())?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A component without sections.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn with(text: &[u8]) -> Result<Option<AnswerSchemas>, SectionError> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        let mut component = EMPTY.to_vec();
        add_section(&mut component, SECTION, &encoder.finish().unwrap());
        read(&mut Cursor::new(&component))
    }

    fn schemas() -> AnswerSchemas {
        AnswerSchemas::parse(r#"{"list": {"type": "array", "items": {"type": "string"}}}"#).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut component = EMPTY.to_vec();
        write(&schemas(), &mut component).unwrap();
        assert_eq!(read(&mut Cursor::new(&component)).unwrap(), Some(schemas()));
        assert_eq!(read(&mut Cursor::new(EMPTY)).unwrap(), None);
        write(&schemas(), &mut component).unwrap();
        assert!(matches!(read(&mut Cursor::new(&component)), Err(SectionError::Repeated)));
    }

    #[test]
    fn a_section_that_is_too_large_is_neither_written_nor_read() {
        // Digits of a generator do not compress to less than their information.
        let mut state = 1_u64;
        let mut digits = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{state:020}")
        };
        let text: String = (0..4000).map(|_| digits()).collect();
        let text = format!(r#"{{"list": {{"type": "string", "description": "{text}"}}}}"#);
        let large = AnswerSchemas::parse(&text).unwrap();
        assert!(matches!(write(&large, &mut EMPTY.to_vec()), Err(SectionError::TooLarge { .. })));
        assert!(matches!(with(text.as_bytes()), Err(SectionError::TooLarge { .. })));
        let long = vec![b' '; MAX_ANSWER_SCHEMAS_BYTES * 4];
        assert!(matches!(with(&long), Err(SectionError::Schemas(AnswerSchemaError::TooLong))));
    }

    #[test]
    fn a_section_that_has_no_schemas_is_refused() {
        assert!(matches!(with(b"[]"), Err(SectionError::Schemas(_))));
        assert!(matches!(with(b"\xff"), Err(SectionError::NotReadable(_))));
        let mut component = EMPTY.to_vec();
        add_section(&mut component, SECTION, b"no zlib");
        assert!(matches!(read(&mut Cursor::new(&component)), Err(SectionError::NotReadable(_))));
    }

    #[test]
    fn the_section_is_found_among_others_and_not_inside_of_them() {
        let mut component = EMPTY.to_vec();
        for (name, data) in [("name", vec![0; 300]), ("answer-schemes", Vec::new()), ("", vec![7])] {
            add_section(&mut component, name, &data);
        }
        let mut inner = EMPTY.to_vec();
        write(&schemas(), &mut inner).unwrap();
        add_section(&mut component, "inner", &inner);
        assert_eq!(read(&mut Cursor::new(&component)).unwrap(), None);
        write(&schemas(), &mut component).unwrap();
        add_section(&mut component, "more", b"text");
        assert_eq!(read(&mut Cursor::new(&component)).unwrap(), Some(schemas()));
        for end in 0..component.len() {
            // Whatever it is, the reading ends.
            let _ = read(&mut Cursor::new(&component[..end]));
        }
        component[8] = 1;
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            for position in 0..component.len() {
                let mut changed = component.clone();
                changed[position] = value;
                let _ = read(&mut Cursor::new(&changed));
            }
        }
    }
}
