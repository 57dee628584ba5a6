//! Texts with names in braces: `/repos/{owner}/{repo}`, or `application/json; version={settings.version}`.

/// A name that begins so is a setting, not a field.
pub(crate) const SETTINGS: &str = "settings.";

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// The parts of a template.
///
/// # Errors
/// The brace that has no other one.
pub(crate) fn parts(template: &str) -> Result<Vec<Part<'_>>, &'static str> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find(['{', '}']) {
        let (text, tail) = rest.split_at(open);
        let Some(inner) = tail.strip_prefix('{') else { return Err("a `}` has a `{` before it") };
        let Some((name, tail)) = inner.split_once('}') else { return Err("a `{` has a `}` after it") };
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        parts.push(Part::Name(name));
        rest = tail;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Ok(parts)
}

/// The names of fields in a path, in their order. Empty if a brace is missing.
pub(crate) fn fields_of(path: &str) -> Vec<&str> {
    let template = path.split('?').next().unwrap_or_default();
    let name = |part| match part {
        Part::Name(name) if !name.starts_with(SETTINGS) => Some(name),
        _ => None,
    };
    parts(template).unwrap_or_default().into_iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::{Part, fields_of, parts};

    #[test]
    fn the_fields_of_a_path_are_its_names_without_settings() {
        assert_eq!(fields_of("/{settings.base}/{a}/x{b}?c={d}"), ["a", "b"]);
        assert!(fields_of("/{a}/{b").is_empty());
    }

    #[test]
    fn a_template_is_text_and_names() {
        assert_eq!(parts("/a/{b}{c}"), Ok(vec![Part::Text("/a/"), Part::Name("b"), Part::Name("c")]));
        assert_eq!(parts(""), Ok(vec![]));
        assert!(parts("a}").is_err());
        assert!(parts("{a").is_err());
    }
}
