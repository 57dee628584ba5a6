//! The words of a text, and the beginning that the forms of a word have in common.

/// The words of a text in lower case. A name such as `list_events` is a word, and so are its parts.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    text.split(move |character: char| !is_part(character)).filter(|name| !name.is_empty()).flat_map(|name| {
        let parts: Vec<String> =
            name.split(['_', '-']).filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
        let whole = (parts.len() > 1).then(|| name.to_lowercase());
        parts.into_iter().chain(whole)
    })
}

/// The beginning that the forms of an English word have in common.
pub(super) fn stem(word: &str) -> String {
    if !word.is_ascii() || word.contains(['_', '-']) {
        return word.to_owned();
    }
    let mut stem = word;
    if let Some(short) = stem.strip_suffix("ies").filter(|short| short.len() > 2) {
        return format!("{short}i");
    }
    if let Some(short) = stem.strip_suffix('s').filter(|short| short.len() > 2 && !short.ends_with('s')) {
        stem = short;
    }
    for ending in ["ing", "ed"] {
        if let Some(short) = stem.strip_suffix(ending).filter(|short| short.len() > 3) {
            stem = short;
            break;
        }
    }
    match stem.strip_suffix('e').filter(|short| short.len() > 2) {
        Some(short) => short.to_owned(),
        None => match stem.strip_suffix('y').filter(|short| short.len() > 2) {
            Some(short) => format!("{short}i"),
            None => stem.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_forms_of_a_word_have_one_stem() {
        for forms in [
            &["reply", "replies", "replied"][..],
            &["delete", "deleted", "deleting", "deletes"],
            &["message", "messages"],
            &["file", "files"],
        ] {
            let stems: HashSet<String> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{stems:?}");
        }
        assert_eq!(stem("access"), "access");
        assert_eq!(stem("list_events"), "list_events");
    }
}
