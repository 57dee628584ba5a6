//! The search for operations in the words of a person: BM25 over the texts of operations.
//!
//! A word is compared by its stem, so that "replies" finds "reply". Words that people use for the
//! same thing count as well, with less weight, and an operation that does something else than the
//! question asks for loses weight. There is no model and no request.
//!
//! - here: the index
//! - `question`: the request in a question
//! - `stem`: the words of a text, and what their forms have in common
//! - `words`: the English words that have a meaning for the search

mod question;
mod stem;
mod words;

use std::collections::HashMap;

use self::question::{Question, actions_of};
use self::stem::{stem, words};
use self::words::Actions;

/// How quickly further occurrences of a word lose weight.
const SATURATION: f64 = 1.2;

/// How much the length of a text counts.
const LENGTH: f64 = 0.4;

/// The weight of the word "list" in a question that asks for no change.
const OF_LISTS: f64 = 0.4;

/// The factor for operations that do something else than the question asks for.
const OF_OTHER_ACTIONS: f64 = 0.55;

/// The part of the score that grows with the words of the question that a text has.
const OF_COVERAGE: f64 = 0.3;

/// The factor for preferred operations. One that has the words of the question comes before a
/// preferred one that has half of them.
const OF_PREFERRED: f64 = 1.5;

/// The texts of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texts<'a> {
    /// Its name, such as `list_events`.
    pub name: &'a str,
    /// The identifier of its connector.
    pub connector: &'a str,
    /// The title of its connector.
    pub title: &'a str,
    /// Its summary.
    pub summary: &'a str,
    /// Its description.
    pub description: &'a str,
    /// `true` if it changes nothing.
    pub reads: bool,
}

impl<'a> Texts<'a> {
    /// The texts with their weights.
    fn parts(&self) -> [(&'a str, f64); 5] {
        [(self.name, 3.0), (self.connector, 1.5), (self.title, 1.5), (self.summary, 2.0), (self.description, 0.4)]
    }
}

/// An index of operations.
pub struct Index {
    /// For each stem, the operations that have it and the weight that it has there.
    places: HashMap<String, Vec<(usize, f64)>>,
    /// The weighted number of words of each operation, and the actions that it does.
    operations: Vec<(f64, Actions)>,
    /// The mean number of words.
    mean: f64,
}

/// The score of an operation for a question.
#[derive(Default)]
struct Score {
    value: f64,
    /// The weights of the words of the question that it has.
    covered: f64,
}

impl Index {
    /// An index of these operations, which are named by their position.
    pub fn new<'a>(texts: impl IntoIterator<Item = Texts<'a>>) -> Self {
        let mut places: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut operations = Vec::new();
        for (number, texts) in texts.into_iter().enumerate() {
            let mut weights: HashMap<String, f64> = HashMap::new();
            let mut length = 0.0;
            for (text, weight) in texts.parts() {
                for word in words(text) {
                    length += weight;
                    *weights.entry(stem(&word)).or_default() += weight;
                }
            }
            for (stem, weight) in weights {
                places.entry(stem).or_default().push((number, weight));
            }
            operations.push((length, actions_of(texts.reads, texts.name, texts.summary)));
        }
        let mean = operations.iter().map(|(length, _)| length).sum::<f64>() / operations.len().max(1) as f64;
        Self { places, operations, mean: mean.max(1.0) }
    }

    /// The operations that have a word of the question, the best first. Preferred ones count more.
    /// Those that are as good are in their own order.
    pub fn search(&self, question: &str, is_preferred: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut scores: HashMap<usize, Score> = HashMap::new();
        let Question { words, actions } = Question::read(question);
        let mut known = 0.0;
        for word in words {
            // An operation gets the weight of the word or of another one with the same meaning,
            // whichever is larger.
            let mut best: HashMap<usize, f64> = HashMap::new();
            for (stem, weight) in &word.stems {
                self.add_scores(stem, weight * word.weight, &mut best);
            }
            if !best.is_empty() {
                known += word.weight;
            }
            for (number, value) in best {
                let score = scores.entry(number).or_default();
                score.value += value;
                score.covered += word.weight;
            }
        }
        if actions == Actions::NONE || actions.meets(Actions::READ) {
            let mut lists = HashMap::new();
            self.add_scores("list", OF_LISTS, &mut lists);
            for (number, score) in &mut scores {
                score.value += lists.get(number).copied().unwrap_or_default();
            }
        }
        let mut found: Vec<_> = scores
            .into_iter()
            .map(|(number, Score { value, covered })| {
                let does = self.operations.get(number).map_or(Actions::NONE, |(_, does)| *does);
                let is_other = actions != Actions::NONE && !actions.meets(does);
                let of_action = if is_other { OF_OTHER_ACTIONS } else { 1.0 };
                let of_coverage = 1.0 - OF_COVERAGE + OF_COVERAGE * covered / known;
                let of_preferred = if is_preferred(number) { OF_PREFERRED } else { 1.0 };
                (number, value * of_action * of_coverage * of_preferred)
            })
            .collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        found.into_iter().map(|(number, _)| number).collect()
    }

    fn add_scores(&self, stem: &str, weight: f64, best: &mut HashMap<usize, f64>) {
        let Some(places) = self.places.get(stem) else { return };
        let (texts, having) = (self.operations.len() as f64, places.len() as f64);
        let rarity = (1.0 + (texts - having + 0.5) / (having + 0.5)).ln();
        for (number, frequency) in places {
            let length = self.operations.get(*number).map_or(0.0, |(length, _)| *length) / self.mean;
            let dampened = frequency + SATURATION * (1.0 - LENGTH + LENGTH * length);
            let score = weight * rarity * frequency * (SATURATION + 1.0) / dampened;
            let known = best.entry(*number).or_default();
            *known = known.max(score);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a>(name: &'a str, summary: &'a str) -> Texts<'a> {
        let reads = !["create", "delete", "send"].iter().any(|action| name.starts_with(action));
        Texts { name, summary, reads, ..Texts::default() }
    }

    fn calendar() -> Index {
        Index::new([
            named("delete_event", "Delete an event from a calendar"),
            named("list_events", "The events of a calendar"),
            named("send_message", "Send a message to a person"),
        ])
    }

    #[test]
    fn the_best_operation_comes_first() {
        let (index, no) = (calendar(), |_| false);
        assert_eq!(index.search("remove the appointment", no)[0], 0);
        assert_eq!(index.search("list_events", no)[0], 1);
        assert_eq!(index.search("write to a colleague", no)[0], 2);
        assert!(index.search("zebra", no).is_empty() && index.search("", no).is_empty());
    }

    #[test]
    fn an_operation_that_does_what_is_asked_comes_before_one_that_does_something_else() {
        let index = Index::new([
            named("delete_event", "An event of the team"),
            named("get_event", "An event of the team"),
            named("create_event", "An event of the team"),
        ]);
        let first = |question: &str| index.search(question, |_| false)[0];
        assert_eq!(["which event was it", "get rid of the event", "book an event"].map(first), [1, 0, 2]);
    }

    #[test]
    fn a_preferred_operation_comes_before_one_that_fits_as_well_and_not_before_a_better_one() {
        let index =
            Index::new([named("", "Send a mail"), named("", "Send a mail"), named("", "Send money to a person")]);
        assert_eq!(index.search("send a mail", |text| text == 1), [1, 0, 2]);
        assert_eq!(index.search("send a mail", |text| text == 2)[..2], [0, 1]);
    }

    #[test]
    fn a_question_of_any_length_is_answered() {
        let index = Index::new([named("a", "")]);
        assert_eq!(index.search(&"a ".repeat(100_000), |_| false), [0]);
        assert!(Index::new([]).search("a", |_| false).is_empty());
    }
}
