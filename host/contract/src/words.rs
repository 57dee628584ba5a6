//! Words in messages to people.

use std::borrow::Cow;

/// Maximum length of a name in a message, in characters.
const LONGEST_NAME: usize = 64;

/// A fragment as a sentence: with a capital letter and a full stop.
pub fn sentence(fragment: &str) -> String {
    let mut characters = fragment.chars();
    let mut sentence: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    sentence.push_str(characters.as_str());
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

/// The most similar candidate, however small the similarity.
pub fn most_alike<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    ranked(name, candidates).map(|(_, candidate)| candidate)
}

/// A name, shortened to fit a sentence. Callers may send names of any length.
pub fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => Cow::Owned(format!("{}…", name.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(name),
    }
}

/// The candidate that is most similar to a name. `None` if no candidate is similar enough. Long
/// names are not compared, because comparing two names takes time in the product of their lengths.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().nth(LONGEST_NAME).is_some() {
        return None;
    }
    /// Minimum similarity of a misspelt name, from 0 to 1.
    const LEAST_LIKENESS: f64 = 0.75;
    ranked(name, candidates).filter(|(likeness, _)| *likeness > LEAST_LIKENESS).map(|(_, candidate)| candidate)
}

fn ranked<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<(f64, &'a str)> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .max_by(|one, other| one.0.total_cmp(&other.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_becomes_a_sentence() {
        assert_eq!(sentence("the host is unknown"), "The host is unknown.");
        assert_eq!(sentence("Is it? It is!"), "Is it? It is!");
        assert_eq!(sentence(""), ".");
    }

    #[test]
    fn a_long_name_is_shortened_and_is_like_no_other() {
        let (fits, long) = ("é".repeat(LONGEST_NAME), "é".repeat(LONGEST_NAME + 1));
        assert_eq!((shortened(&fits), nearest(&fits, [fits.as_str()])), (Cow::Borrowed(&*fits), Some(&*fits)));
        assert_eq!((&*shortened(&long), nearest(&long, [long.as_str()])), (&*format!("{fits}…"), None));
    }

    #[test]
    fn the_nearest_name_is_like_the_given_one() {
        assert_eq!(nearest("maxResult", ["pageToken", "maxResults"]), Some("maxResults"));
        assert_eq!(nearest("zzz", ["pageToken", "maxResults"]), None);
        assert_eq!(most_alike("zToken", ["pageToken", "maxResults"]), Some("pageToken"));
        assert_eq!(most_alike("zzz", []), None);
    }
}
