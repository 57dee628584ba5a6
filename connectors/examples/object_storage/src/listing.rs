//! The XML of S3: a page of a list, and an error.

use quick_xml::events::Event;
use quick_xml::reader::Reader;
use serde::Serialize;

/// A page of a list of objects.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Page {
    objects: Vec<Object>,
    prefixes: Vec<String>,
    /// The value for the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// An object of a list.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Object {
    key: String,
    size: u64,
    etag: String,
    last_modified: String,
    storage_class: Option<String>,
}

/// Reads a page. `None` if the text is another document.
pub(crate) fn parse(xml: &str) -> Option<Page> {
    let mut page = Page::default();
    let mut object = Object::default();
    let mut is_encoded = false;
    let is_whole = leaves(xml, "ListBucketResult", |path, text| match path {
        ["EncodingType"] => is_encoded = text == "url",
        ["Contents", "Key"] => object.key = text.to_owned(),
        ["Contents", "Size"] => object.size = text.parse().unwrap_or_default(),
        ["Contents", "ETag"] => object.etag = text.trim_matches('"').to_owned(),
        ["Contents", "LastModified"] => object.last_modified = text.to_owned(),
        ["Contents", "StorageClass"] => object.storage_class = Some(text.to_owned()),
        ["Contents"] => page.objects.push(std::mem::take(&mut object)),
        ["CommonPrefixes", "Prefix"] => page.prefixes.push(text.to_owned()),
        ["NextContinuationToken"] => page.next = Some(text.to_owned()),
        _ => {}
    });
    // Some services with the interface of S3 do not encode, and do not say that they do.
    if is_encoded {
        for key in page.objects.iter_mut().map(|object| &mut object.key).chain(&mut page.prefixes) {
            *key = decoded(key);
        }
    }
    is_whole.then_some(page)
}

/// The code and the message of an error. `None` if the text is another document.
pub(crate) fn error(xml: &str) -> Option<String> {
    let (mut code, mut message) = (String::new(), String::new());
    let is_whole = leaves(xml, "Error", |path, text| match path {
        ["Code"] => code = text.to_owned(),
        ["Message"] => message = text.to_owned(),
        _ => {}
    });
    (is_whole && !code.is_empty()).then(|| format!("The service says {code}: {message}"))
}

/// Calls `end` at the end of each element below the root, with the names from the root to it and its
/// text. Returns `false` if the document has another root or is not complete.
fn leaves(xml: &str, root: &str, mut end: impl FnMut(&[&str], &str)) -> bool {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().expand_empty_elements = true;
    let mut open: Vec<String> = Vec::new();
    let mut text = String::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                open.push(start.local_name().as_ref().to_owned());
                text.clear();
            }
            Ok(Event::Text(part)) => text.push_str(&part),
            Ok(Event::GeneralRef(reference)) => match (reference.resolve_char_ref(), &*reference) {
                (Ok(Some(character)), _) => text.push(character),
                (_, "amp") => text.push('&'),
                (_, "lt") => text.push('<'),
                (_, "gt") => text.push('>'),
                (_, "quot") => text.push('"'),
                (_, "apos") => text.push('\''),
                _ => return false,
            },
            Ok(Event::End(_)) => {
                let path: Vec<&str> = open.iter().skip(1).map(String::as_str).collect();
                if open.first().is_none_or(|first| first != root) {
                    return false;
                }
                end(&path, &text);
                open.pop();
                text.clear();
                if open.is_empty() {
                    return true;
                }
            }
            Ok(Event::Eof) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}

/// A key of a list that was requested with `encoding-type=url`, because XML cannot have each
/// character that a key can.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
