//! Text for people.

/// A fragment, such as the text of an error, as a sentence.
pub fn sentence(fragment: &str) -> String {
    let mut characters = fragment.chars();
    let mut sentence: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    sentence.push_str(characters.as_str());
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn a_sentence_begins_with_a_capital_and_ends_with_a_stop() {
        assert_eq!(sentence("élan is missing"), "Élan is missing.");
        assert_eq!(sentence("Why?"), "Why?");
    }
}
