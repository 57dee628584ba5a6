//! The search for operations in the words of a person: BM25 over the texts of operations.
//!
//! A word is compared by its stem, so that "replies" finds "reply". Words that people use for the
//! same thing count as well, with less weight. There is no model and no request.

use std::collections::HashMap;

/// How quickly further occurrences of a word lose weight.
const SATURATION: f64 = 1.2;

/// How much the length of a text counts.
const LENGTH: f64 = 0.4;

/// The weight of a word that means the same as a word of the question.
const OF_SAME_MEANING: f64 = 0.65;

/// The weight of the word "list" in a question that asks for no change.
const OF_LISTS: f64 = 0.4;

/// The factor for preferred texts. A text that has the words of the question comes before a
/// preferred one that has half of them.
const OF_PREFERRED: f64 = 1.5;

/// Words of a question that say nothing about the operation.
const EMPTY_WORDS: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from",
    "has", "have", "how", "i", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "please", "so",
    "some", "that", "the", "their", "them", "there", "they", "this", "to", "under", "us", "was", "we", "were", "what",
    "when", "where", "which", "who", "whom", "whose", "with", "you", "your",
];

/// Words of questions that ask for a change, in addition to the first groups of [`SAME_MEANING`].
const CHANGES: &[&str] = &[
    "accept",
    "answer",
    "cancel",
    "clear",
    "copy",
    "download",
    "export",
    "invite",
    "move",
    "purge",
    "put",
    "react",
    "reply",
    "reset",
    "resolve",
    "share",
    "summarize",
    "switch",
    "upload",
];

/// The number of groups at the beginning of [`SAME_MEANING`] whose words ask for a change.
const GROUPS_OF_CHANGES: usize = 6;

/// Words that people use for the same thing.
const SAME_MEANING: &[&[&str]] = &[
    &["create", "new", "add", "make", "insert", "start", "open", "append", "book"],
    &["delete", "remove", "erase", "drop", "trash", "throw", "kick", "recycle"],
    &["update", "edit", "change", "modify", "overwrite", "replace", "set", "patch", "close"],
    &["rename", "update"],
    &["send", "post", "write", "say", "publish", "tell"],
    &["write", "create", "update", "set"],
    &["get", "show", "read", "fetch", "view", "detail", "look"],
    &["list", "all", "every"],
    &["search", "find", "match", "lookup", "about"],
    &["cancel", "end", "stop", "decline"],
    &["mail", "email", "inbox", "mailbox"],
    &["event", "meeting", "appointment", "invitation"],
    &["meet", "meeting", "conference", "video", "call"],
    &["calendar", "agenda", "schedule"],
    &["file", "item", "document", "doc"],
    &["folder", "directory", "child", "subfolder"],
    &["user", "person", "people", "colleague", "account", "profile"],
    &["member", "people", "membership", "belong"],
    &["participant", "attendee", "part"],
    &["channel", "conversation"],
    &["space", "room"],
    &["reply", "answer", "respond", "resolve"],
    &["thread", "reply"],
    &["spreadsheet", "sheet", "excel"],
    &["cell", "range", "value", "row"],
    &["row", "item"],
    &["paper", "article", "preprint", "publication"],
    &["issue", "bug", "ticket"],
    &["free", "busy", "availability", "available"],
    &["comment", "remark", "feedback"],
    &["site", "intranet"],
    &["permission", "access"],
    &["share", "sharing", "link"],
    &["price", "pair", "trading"],
    &["promoted", "boost"],
    &["purpose", "topic", "description"],
    &["latest", "recent", "newest", "daily"],
    &["copy", "duplicate"],
    &["label", "tag"],
    &["identity", "userinfo", "myself"],
    &["summary", "summarize", "digest"],
    &["total", "count", "many", "number"],
    &["track", "since", "incremental"],
    &["changed", "change", "modified"],
    &["tweet", "post"],
    &["quick", "tomorrow", "today"],
    &["pr", "pull"],
    &["repo", "repository"],
    &["assign", "assignee"],
    &["react", "reaction", "emoji"],
    &["empty", "clear", "wipe"],
    &["reschedule", "move", "update", "patch"],
    &["attended", "attendee", "participant", "joined"],
    &["readme", "file", "content"],
    &["slide", "deck", "presentation", "file"],
    &["contract", "invoice", "document", "file"],
    &["pdf", "export", "format"],
    &["forgot", "reset"],
    &["bug", "issue"],
    &["week", "day", "recent"],
];

/// Words of questions that together mean something else than each of them.
const PHRASES: &[(&str, &str)] = &[
    ("call off", "cancel"),
    ("video call", "meeting space"),
    ("who is in", "members of"),
    ("who belongs to", "members of"),
    ("file a bug", "create an issue"),
    ("mark as", "modify"),
];

/// A text to be searched, as parts with their weights.
pub type Parts<'a> = Vec<(&'a str, f64)>;

/// An index of texts.
pub struct Index {
    /// For each stem, the texts that have it and the weight that it has there.
    places: HashMap<String, Vec<(usize, f64)>>,
    /// The weighted number of words of each text.
    lengths: Vec<f64>,
    /// The mean of `lengths`.
    mean: f64,
}

impl Index {
    /// An index of these texts, which are named by their position.
    pub fn new<'a>(texts: impl IntoIterator<Item = Parts<'a>>) -> Self {
        let mut places: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (number, parts) in texts.into_iter().enumerate() {
            let mut weights: HashMap<String, f64> = HashMap::new();
            let mut length = 0.0;
            for (text, weight) in parts {
                for word in words(text) {
                    length += weight;
                    *weights.entry(stem(&word)).or_default() += weight;
                }
            }
            for (stem, weight) in weights {
                places.entry(stem).or_default().push((number, weight));
            }
            lengths.push(length);
        }
        let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self { places, lengths, mean: mean.max(1.0) }
    }

    /// The texts that have a word of the question, the best first. Preferred texts count more. Texts
    /// that are as good are in their own order.
    pub fn search(&self, question: &str, is_preferred: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        let (words, is_for_lists) = asked(question);
        for word in words {
            // A text gets the weight of the word or of another one with the same meaning, whichever
            // is larger.
            let mut best: HashMap<usize, f64> = HashMap::new();
            for (stem, weight) in &word {
                self.add_scores(stem, *weight, &mut best);
            }
            for (number, score) in best {
                *scores.entry(number).or_default() += score;
            }
        }
        if is_for_lists {
            let mut lists = HashMap::new();
            self.add_scores("list", OF_LISTS, &mut lists);
            for (number, score) in &mut scores {
                *score += lists.get(number).copied().unwrap_or_default();
            }
        }
        for (number, score) in &mut scores {
            if is_preferred(*number) {
                *score *= OF_PREFERRED;
            }
        }
        let mut found: Vec<_> = scores.into_iter().collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        found.into_iter().map(|(number, _)| number).collect()
    }

    fn add_scores(&self, stem: &str, weight: f64, best: &mut HashMap<usize, f64>) {
        let Some(places) = self.places.get(stem) else { return };
        let (texts, having) = (self.lengths.len() as f64, places.len() as f64);
        let rarity = (1.0 + (texts - having + 0.5) / (having + 0.5)).ln();
        for (number, frequency) in places {
            let length = self.lengths.get(*number).copied().unwrap_or_default() / self.mean;
            let dampened = frequency + SATURATION * (1.0 - LENGTH + LENGTH * length);
            let score = weight * rarity * frequency * (SATURATION + 1.0) / dampened;
            let known = best.entry(*number).or_default();
            *known = known.max(score);
        }
    }
}

/// The most words of a question that count.
const MAX_WORDS: usize = 64;

/// The words of a question, as stems with weights. Each word comes with its synonyms.
/// Returns `true` too if the question asks for no change.
fn asked(question: &str) -> (Vec<Vec<(String, f64)>>, bool) {
    let mut plain: Vec<String> = words(question).take(MAX_WORDS).collect();
    let text = format!(" {} ", plain.join(" "));
    for (phrase, meaning) in PHRASES {
        let phrase = format!(" {phrase} ");
        if text.contains(&phrase) {
            plain = words(&text.replace(&phrase, &format!(" {meaning} "))).take(MAX_WORDS).collect();
            break;
        }
    }
    let told: Vec<&String> = plain.iter().filter(|word| !EMPTY_WORDS.contains(&word.as_str())).collect();
    // A question of empty words alone is searched for as it is.
    let told = if told.is_empty() { plain.iter().collect() } else { told };
    let mut stems: Vec<String> = Vec::new();
    for stem in told.into_iter().map(|word| stem(word)) {
        if !stems.contains(&stem) {
            stems.push(stem);
        }
    }
    let is_for_lists = !stems.iter().any(|stem| changes().any(|change| change == *stem));
    (stems.into_iter().map(with_same_meaning).collect(), is_for_lists)
}

/// The stems of words that ask for a change.
fn changes() -> impl Iterator<Item = String> {
    let groups = SAME_MEANING.iter().take(GROUPS_OF_CHANGES).copied().flatten();
    groups.chain(CHANGES).map(|word| stem(word))
}

/// A stem, and the stems of its synonyms.
fn with_same_meaning(asked: String) -> Vec<(String, f64)> {
    let mut alternatives = vec![(asked, 1.0)];
    for group in SAME_MEANING {
        let stems: Vec<String> = group.iter().map(|word| stem(word)).collect();
        if alternatives.first().is_some_and(|(asked, _)| stems.contains(asked)) {
            for stem in stems {
                if alternatives.iter().all(|(known, _)| *known != stem) {
                    alternatives.push((stem, OF_SAME_MEANING));
                }
            }
        }
    }
    alternatives
}

/// The words of a text in lower case. A name such as `list_events` is a word, and so are its parts.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    text.split(move |character: char| !is_part(character)).filter(|name| !name.is_empty()).flat_map(|name| {
        let parts: Vec<String> =
            name.split(['_', '-']).filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
        let whole = (parts.len() > 1).then(|| name.to_lowercase());
        parts.into_iter().chain(whole)
    })
}

/// The beginning that the forms of an English word have in common.
fn stem(word: &str) -> String {
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

    #[test]
    fn the_best_text_comes_first() {
        let index = Index::new([
            vec![("delete_event", 3.0), ("Delete an event from a calendar", 1.0)],
            vec![("list_events", 3.0), ("The events of a calendar", 1.0)],
            vec![("send_message", 3.0), ("Send a message to a person", 1.0)],
        ]);
        let search = |question: &str| index.search(question, |_| false);
        assert_eq!(search("remove the appointment")[0], 0);
        assert_eq!(search("list_events")[0], 1);
        assert_eq!(search("write to a colleague")[0], 2);
        assert!(search("zebra").is_empty() && search("").is_empty());
    }

    #[test]
    fn a_preferred_text_comes_before_one_that_fits_as_well_and_not_before_a_better_one() {
        let index =
            Index::new([vec![("Send a mail", 1.0)], vec![("Send a mail", 1.0)], vec![("Send money to a person", 1.0)]]);
        assert_eq!(index.search("send a mail", |text| text == 1), [1, 0, 2]);
        assert_eq!(index.search("send a mail", |text| text == 2)[..2], [0, 1]);
    }

    #[test]
    fn words_that_mean_something_else_together_are_read_together() {
        let index = Index::new([vec![("The calls of a meeting", 1.0)], vec![("Cancel a meeting", 1.0)]]);
        assert_eq!(index.search("call off the meeting", |_| false)[0], 1);
        assert_eq!(index.search("call officials to the meeting", |_| false)[0], 0);
    }

    #[test]
    fn a_question_of_any_length_is_answered() {
        let index = Index::new([vec![("a", 1.0)]]);
        assert_eq!(index.search(&"a ".repeat(100_000), |_| false), [0]);
        assert!(Index::new([]).search("a", |_| false).is_empty());
    }
}
