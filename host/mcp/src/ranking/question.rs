//! The request in a question: the action, and the words that the operation should have.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::stem::{stem, words};
use super::words::{Actions, EMPTY, GENERAL, OF_ACTIONS, OF_QUESTIONS, PHRASES, POLITE, SAME_MEANING};

/// The most words of a question that count.
const MAX_WORDS: usize = 64;

/// The most words that `…` stands for in a phrase.
const MAX_BETWEEN: usize = 4;

/// The weight of a word that means the same as a word of the question.
const OF_SAME_MEANING: f64 = 0.65;

/// The weight of a word that asks for an action and says little about the thing.
const OF_GENERAL: f64 = 0.6;

/// The request in a question.
pub(super) struct Question {
    /// The words that count, each once.
    pub(super) words: Vec<Word>,
    /// [`Actions::NONE`] if it does not say what is to be done.
    pub(super) actions: Actions,
}

/// A word of a question.
pub(super) struct Word {
    pub(super) weight: f64,
    /// The stem of the word and the stems of its synonyms, each with a weight.
    pub(super) stems: Vec<(String, f64)>,
}

/// The tables of words, by stems.
struct Known {
    empty: HashSet<&'static str>,
    polite: HashSet<&'static str>,
    of_questions: HashSet<&'static str>,
    general: HashSet<String>,
    of_actions: HashMap<String, Actions>,
    same_meaning: Vec<Vec<String>>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let set = |words: &'static str| words.split_whitespace().collect::<HashSet<_>>();
    let stems = |words: &str| words.split_whitespace().map(stem).collect::<Vec<_>>();
    let mut of_actions: HashMap<String, Actions> = HashMap::new();
    for (actions, words) in OF_ACTIONS {
        for stem in stems(words) {
            let known = of_actions.entry(stem).or_insert(Actions::NONE);
            *known = known.with(*actions);
        }
    }
    Known {
        empty: set(EMPTY),
        polite: set(POLITE),
        of_questions: set(OF_QUESTIONS),
        general: stems(GENERAL).into_iter().collect(),
        of_actions,
        same_meaning: SAME_MEANING.iter().map(|group| stems(group)).collect(),
    }
});

impl Question {
    pub(super) fn read(text: &str) -> Self {
        let words = with_phrases(words(text).take(MAX_WORDS).collect());
        let actions = asked(&words);
        let has_meaning = |word: &&String| {
            let is_number = word.chars().all(|character| character.is_ascii_digit());
            !is_number && !KNOWN.empty.contains(word.as_str())
        };
        let told: Vec<&String> = words.iter().filter(has_meaning).collect();
        // A question of empty words alone is searched for as it is.
        let told = if told.is_empty() { words.iter().collect() } else { told };
        let mut seen = HashSet::new();
        let stems = told.into_iter().map(|word| stem(word)).filter(|stem| seen.insert(stem.clone()));
        let word = |stem: String| {
            let is_general = actions != Actions::NONE && KNOWN.general.contains(&stem);
            Word { weight: if is_general { OF_GENERAL } else { 1.0 }, stems: with_same_meaning(stem) }
        };
        Self { words: stems.map(word).collect(), actions }
    }
}

/// The actions that an operation does, by its name and its summary.
pub(super) fn actions_of(reads: bool, name: &str, summary: &str) -> Actions {
    /// Words of the name and the summary that tell the action.
    const TELLING: usize = 8;
    if reads {
        return Actions::READ;
    }
    let known = |word: String| KNOWN.of_actions.get(&stem(&word)).copied();
    let told = words(name).chain(words(summary)).take(TELLING).filter_map(known);
    match told.fold(Actions::NONE, Actions::with).without(Actions::READ) {
        Actions::NONE => Actions::UPDATE,
        actions => actions,
    }
}

/// The actions that the beginning of a question asks for.
fn asked(words: &[String]) -> Actions {
    let is_question = |word: &str| KNOWN.of_questions.contains(word);
    let is_polite = |word: &&String| KNOWN.polite.contains(word.as_str()) && !is_question(word);
    match words.iter().find(|word| !is_polite(word)) {
        Some(word) if is_question(word) => Actions::READ,
        Some(word) => KNOWN.of_actions.get(&stem(word)).copied().unwrap_or(Actions::NONE),
        None => Actions::NONE,
    }
}

/// The words with the meaning of each phrase in its place.
fn with_phrases(mut words: Vec<String>) -> Vec<String> {
    for (phrase, meaning) in PHRASES {
        let found = match phrase.split_once(" … ") {
            None => {
                let parts: Vec<&str> = phrase.split(' ').collect();
                words.windows(parts.len()).position(|window| window == parts).map(|at| (at, at + parts.len(), None))
            }
            Some((first, last)) => words.iter().enumerate().find_map(|(at, word)| {
                let between = words.get(at + 2..)?.iter().take(MAX_BETWEEN).position(|word| word == last)?;
                (word == first).then_some((at, at + 1, Some(at + 2 + between)))
            }),
        };
        let Some((from, to, last)) = found else { continue };
        if let Some(last) = last {
            words.remove(last);
        }
        words.splice(from..to, meaning.split(' ').map(str::to_owned));
    }
    words
}

/// A stem, and the stems of its synonyms.
fn with_same_meaning(asked: String) -> Vec<(String, f64)> {
    let mut stems = vec![(asked.clone(), 1.0)];
    for group in KNOWN.same_meaning.iter().filter(|group| group.contains(&asked)) {
        for stem in group {
            if stems.iter().all(|(known, _)| known != stem) {
                stems.push((stem.clone(), OF_SAME_MEANING));
            }
        }
    }
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_that_is_not_polite_says_what_is_to_be_done() {
        for (question, actions) in [
            ("delete the meeting", Actions::DELETE),
            ("please could you show my mails", Actions::READ),
            ("which files were deleted?", Actions::READ),
            ("get rid of the old calendar", Actions::DELETE),
            ("take Ann off the list", Actions::DELETE),
            ("invite Bob", Actions::CREATE.with(Actions::SEND)),
            ("Ada's calendar", Actions::NONE),
            ("", Actions::NONE),
        ] {
            assert_eq!(Question::read(question).actions, actions, "{question}");
        }
    }

    #[test]
    fn an_operation_does_what_its_name_and_its_summary_say() {
        assert_eq!(actions_of(true, "delete_history", "Deleted events"), Actions::READ);
        assert_eq!(actions_of(false, "delete_event", "Delete an event"), Actions::DELETE);
        assert!(actions_of(false, "messages_create", "Create a message").meets(Actions::CREATE));
        assert_eq!(actions_of(false, "spaces_configure", "Smart notes of a space"), Actions::UPDATE);
    }

    #[test]
    fn a_phrase_is_read_as_its_meaning_and_keeps_the_words_around_it() {
        let read = |text: &str| with_phrases(words(text).collect()).join(" ");
        assert_eq!(read("call off the meeting"), "cancel the meeting");
        assert_eq!(read("call officials to the meeting"), "call officials to the meeting");
        assert_eq!(read("take Tom Smith off it"), "remove tom smith it");
        assert_eq!(read("take one two three four five off"), "take one two three four five off");
        assert_eq!(read("mark as"), "modify");
    }

    #[test]
    fn words_that_say_nothing_and_numbers_do_not_count() {
        let stems = |text: &str| {
            let question = Question::read(text);
            question.words.into_iter().map(|word| word.stems.into_iter().next().unwrap().0).collect::<Vec<_>>()
        };
        assert_eq!(stems("close the issue 42, and the issue"), ["clos", "issu"]);
        assert_eq!(stems("who are you"), ["who", "are", "you"], "there is nothing else");
    }
}
