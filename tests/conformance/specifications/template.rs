//! Templates of URLs, as specifications and the catalogue write them:
//! `host/path/{placeholder}:suffix`.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// A host and a path with placeholders. A placeholder takes a part of one segment, or several whole
/// segments.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    text: String,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
struct Segment {
    before: String,
    placeholder: Option<Placeholder>,
    after: String,
}

#[derive(Clone, Debug)]
struct Placeholder {
    name: String,
    /// `true` if the value may contain slashes that are not encoded.
    spans_segments: bool,
}

impl Template {
    /// Reads a template. `spans_segments` returns `true` for the names of placeholders whose values
    /// keep their slashes.
    pub(crate) fn parse(text: &str, spans_segments: impl Fn(&str) -> bool) -> Self {
        let segments = text.split('/').map(|segment| {
            let found = segment.split_once('{').and_then(|(before, rest)| {
                let (name, after) = rest.split_once('}')?;
                Some((before, name.trim_start_matches('+'), after))
            });
            match found {
                Some((before, name, after)) => Segment {
                    before: before.to_owned(),
                    placeholder: Some(Placeholder { name: name.to_owned(), spans_segments: spans_segments(name) }),
                    after: after.to_owned(),
                },
                None => Segment { before: segment.to_owned(), placeholder: None, after: String::new() },
            }
        });
        Self { text: text.to_owned(), segments: segments.collect() }
    }

    /// Returns `true` for a URL below a base URL.
    pub(crate) fn is_below(&self, base: &str) -> bool {
        self.text.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The names of the placeholders. The flag tells whether the value is in single quotes, as
    /// OData writes strings.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = (&str, bool)> {
        self.segments.iter().filter_map(|segment| {
            let placeholder = segment.placeholder.as_ref()?;
            Some((placeholder.name.as_str(), segment.before.ends_with('\'') && segment.after.starts_with('\'')))
        })
    }

    /// The decoded values of the placeholders in a URL of this form; `None` if the URL has another
    /// form.
    pub(crate) fn values(&self, url: &str) -> Option<BTreeMap<String, String>> {
        let parts: Vec<&str> = url.split('/').collect();
        let mut values = BTreeMap::new();
        matches(&self.segments, &parts, &mut values).then_some(values)
    }
}

fn matches(segments: &[Segment], parts: &[&str], values: &mut BTreeMap<String, String>) -> bool {
    let Some((segment, rest)) = segments.split_first() else { return parts.is_empty() };
    let longest = match &segment.placeholder {
        Some(placeholder) if placeholder.spans_segments => parts.len(),
        _ => parts.len().min(1),
    };
    (1..=longest).any(|count| {
        let (taken, left) = parts.split_at(count);
        let taken = taken.join("/");
        let Some(placeholder) = &segment.placeholder else {
            return taken == segment.before && matches(rest, left, values);
        };
        let value = taken.strip_prefix(&segment.before).and_then(|value| value.strip_suffix(&segment.after));
        let Some(value) = value.filter(|value| !value.is_empty()) else { return false };
        if !matches(rest, left, values) {
            return false;
        }
        values.insert(placeholder.name.clone(), percent_decode_str(value).decode_utf8_lossy().into_owned());
        true
    })
}

#[test]
fn a_placeholder_takes_an_encoded_value_and_leaves_the_text_around_it() {
    let template = Template::parse("docs.example/v1/documents/{documentId}:batchUpdate", |_| false);
    let values = template.values("docs.example/v1/documents/a%2Fb%3Ac:batchUpdate").unwrap();
    assert_eq!(values["documentId"], "a/b:c");
    for other in [
        "docs.example/v1/documents/a/b:batchUpdate",
        "docs.example/v1/documents/:batchUpdate",
        "docs.example/v1/documents/a",
    ] {
        assert!(template.values(other).is_none(), "{other}");
    }
}

#[test]
fn a_placeholder_that_spans_segments_takes_several() {
    let template = Template::parse("host/contents/{path}", |name| name == "path");
    assert_eq!(template.values("host/contents/docs/a%20b.md").unwrap()["path"], "docs/a b.md");
    let template = Template::parse("host/sites/{hostname}:/{path}:/content", |name| name == "path");
    let values = template.values("host/sites/acme.example:/teams/one:/content").unwrap();
    assert_eq!((values["hostname"].as_str(), values["path"].as_str()), ("acme.example", "teams/one"));
}
