//! Lists that have pages, and their filters.
//!
//! A filter is declared once, next to the handler of its list. The query that the route reads, its
//! parameters in the API's description, the options of the command, and the fields above the list
//! in the console follow from the declaration.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::page::{self, SIZES, Sizes};
use problem::{Problem, read_query};

/// A list that has pages.
pub trait List: 'static {
    /// Selects a page of the list.
    type Query: Default + 'static;

    /// In the order in which people see them.
    const FILTERS: &'static [Filter<Self::Query>];

    /// How many entries a page has.
    const SIZES: Sizes = SIZES;

    /// The most entries in the page.
    const LIMIT: Field<Self::Query, u32>;

    /// Selects the page after the one whose `next_cursor` is the text.
    const CURSOR: Parse<Self::Query>;
}

/// A member of a query.
pub type Field<Q, T> = fn(&mut Q) -> &mut T;

/// Sets a member of a query from a text. The error is a sentence that says what the text must be.
pub type Parse<Q> = fn(&mut Q, &str) -> Result<(), String>;

/// The names that a parameter takes.
pub type Names = fn() -> Vec<&'static str>;

/// An example of a time that has passed. Commands also take how long ago it was.
pub const PAST: &str = "2026-01-31T12:00:00Z; `1h` is an hour ago";

/// The violation of a value that no entry of a list can have.
const NO_ZERO_BYTE: &str = "Must have no zero byte (U+0000).";

/// Sets a member to a value that was read from a text.
pub fn put<T>(member: &mut T, value: Result<T, String>) -> Result<(), String> {
    *member = value?;
    Ok(())
}

/// A filter of a list.
pub struct Filter<Q> {
    parameter: Parameter,
    set: Set<Q>,
}

/// A filter, as a parameter of the list's query.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name in the query. [`Values::Labels`] have a dot at the end of it.
    pub name: &'static str,
    /// The sentence about it, for the API's description and for the help of the command.
    pub about: &'static str,
    /// The values that it takes.
    pub values: Values,
    /// The schema of the API's description that has the same values.
    pub schema: Option<&'static str>,
    /// The value that holds without the parameter, if the list has no form without one.
    pub default: Option<&'static str>,
    /// A value, which the help of the command shows after the sentence.
    pub example: Option<&'static str>,
    /// The name of the option of the command, if it is not the one of the parameter.
    pub option: Option<&'static str>,
    /// The name of the option's value in the help of the command, if it is not the one of the
    /// parameter.
    pub value_name: Option<&'static str>,
    /// `true` if the console shows it only to those who ask for more filters.
    pub is_rare: bool,
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// Any text.
    Text,
    /// A URL.
    Url,
    /// A time in RFC 3339.
    Time,
    /// A whole number from the first one to the last one.
    Number(u32, u32),
    /// One of some names.
    OneOf(Names),
    /// Only `true`.
    True,
    /// Labels, each in a separate parameter. Its name is the filter's name and the label's.
    Labels,
}

/// How a filter gets its value.
enum Set<Q> {
    Text(Field<Q, Option<String>>),
    Time(Field<Q, Option<SystemTime>>),
    Labels(Field<Q, BTreeMap<String, String>>),
    OneOf(Names, fn(&mut Q, &'static str)),
    True(fn(&mut Q)),
    Parsed(Parse<Q>),
}

/// Begins the declaration of a filter by its name and a sentence about it.
pub const fn filter(name: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        about,
        values: Values::Text,
        schema: None,
        default: None,
        example: None,
        option: None,
        value_name: None,
        is_rare: false,
    }
}

impl Parameter {
    /// Names the schema of the API's description that has the same values.
    pub const fn schema(self, name: &'static str) -> Self {
        Self { schema: Some(name), ..self }
    }

    /// Names the value that holds without the parameter.
    pub const fn or(self, value: &'static str) -> Self {
        Self { default: Some(value), ..self }
    }

    /// Adds a value to the help of the command.
    pub const fn such_as(self, example: &'static str) -> Self {
        Self { example: Some(example), ..self }
    }

    /// Gives the option of the command another name than the parameter has.
    pub const fn option(self, name: &'static str) -> Self {
        Self { option: Some(name), ..self }
    }

    /// Gives the option's value another name than the parameter has.
    pub const fn value_name(self, name: &'static str) -> Self {
        Self { value_name: Some(name), ..self }
    }

    /// Leaves it to those who ask for more filters in the console.
    pub const fn rare(self) -> Self {
        Self { is_rare: true, ..self }
    }

    /// A filter that takes any text.
    pub const fn text<Q>(self, field: Field<Q, Option<String>>) -> Filter<Q> {
        Filter { parameter: self, set: Set::Text(field) }
    }

    /// A filter that takes a time.
    pub const fn time<Q>(self, field: Field<Q, Option<SystemTime>>) -> Filter<Q> {
        Filter { parameter: Self { values: Values::Time, ..self }, set: Set::Time(field) }
    }

    /// A filter that takes labels. Its name ends with a dot.
    pub const fn labels<Q>(self, field: Field<Q, BTreeMap<String, String>>) -> Filter<Q> {
        Filter { parameter: Self { values: Values::Labels, ..self }, set: Set::Labels(field) }
    }

    /// A filter that takes one of some names.
    pub const fn one_of<Q>(self, names: Names, set: fn(&mut Q, &'static str)) -> Filter<Q> {
        Filter { parameter: Self { values: Values::OneOf(names), ..self }, set: Set::OneOf(names, set) }
    }

    /// A filter that only takes `true`.
    pub const fn only_true<Q>(self, set: fn(&mut Q)) -> Filter<Q> {
        Filter { parameter: Self { values: Values::True, ..self }, set: Set::True(set) }
    }

    /// A filter whose values have another form.
    pub const fn parsed<Q>(self, values: Values, set: Parse<Q>) -> Filter<Q> {
        Filter { parameter: Self { values, ..self }, set: Set::Parsed(set) }
    }
}

impl<Q> Filter<Q> {
    fn is_named(&self, name: &str) -> bool {
        match self.parameter.values {
            Values::Labels => name.starts_with(self.parameter.name),
            _ => name == self.parameter.name,
        }
    }

    fn set(&self, query: &mut Q, name: &str, value: &str) -> Result<(), String> {
        // Labels are stored as JSON, which escapes it. No other value that is stored has one.
        if value.contains('\0') && !matches!(self.set, Set::Labels(_)) {
            return Err(NO_ZERO_BYTE.to_owned());
        }
        match self.set {
            Set::Text(field) => *field(query) = Some(value.to_owned()),
            Set::Time(field) => *field(query) = Some(page::time(value)?),
            Set::Labels(field) => {
                let label = name.strip_prefix(self.parameter.name).unwrap_or(name);
                field(query).insert(label.to_owned(), value.to_owned());
            }
            Set::OneOf(names, set) => set(query, page::one_of(value, &names())?),
            Set::True(set) => match value {
                "true" => set(query),
                _ => return Err("Must be `true`; leave it out to list the others too.".to_owned()),
            },
            Set::Parsed(set) => set(query, value)?,
        }
        Ok(())
    }
}

/// The filters of a list, as parameters of its query.
pub fn parameters<L: List>() -> Vec<Parameter> {
    L::FILTERS.iter().map(|filter| filter.parameter).collect()
}

/// Sets a filter of a list by its name.
///
/// # Errors
/// A sentence that says what the value must be.
pub fn set<L: List>(query: &mut L::Query, name: &str, value: &str) -> Result<(), String> {
    match L::FILTERS.iter().find(|filter| filter.is_named(name)) {
        Some(filter) => filter.set(query, name, value),
        None => Err("The list has no such filter.".to_owned()),
    }
}

/// Reads the query of a list.
///
/// # Errors
/// 422 with each violation.
pub fn read<L: List>(text: &str) -> Result<L::Query, Problem> {
    let mut query = L::Query::default();
    *L::LIMIT(&mut query) = L::SIZES.default;
    let filters = L::FILTERS.iter().map(|filter| filter.parameter.name);
    let known: Vec<&str> = ["limit", "cursor"].into_iter().chain(filters).collect();
    read_query(text, &known, |name, value| match name {
        "limit" => put(L::LIMIT(&mut query), page::limit(value, L::SIZES)),
        "cursor" => L::CURSOR(&mut query, value),
        _ => set::<L>(&mut query, name, value),
    })?;
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Sought {
        name: Option<String>,
        since: Option<SystemTime>,
        colour: Option<&'static str>,
        labels: BTreeMap<String, String>,
        size: Option<u8>,
        place: Option<u32>,
        limit: u32,
    }

    struct Things;

    impl List for Things {
        type Query = Sought;

        const FILTERS: &'static [Filter<Sought>] = &[
            filter("name", "Only things with this name.").text(|sought| &mut sought.name),
            filter("since", "Only things from this time on.").time(|sought| &mut sought.since),
            filter("colour", "Only things in this colour.")
                .one_of(|| vec!["red", "blue"], |sought, name| sought.colour = Some(name)),
            filter("label.", "Only things with this label.").labels(|sought| &mut sought.labels),
            filter("size", "Only things of this size.").parsed(Values::Number(0, 255), |sought, value| {
                put(&mut sought.size, value.parse().map(Some).map_err(|_| "Must be a size.".to_owned()))
            }),
        ];

        const LIMIT: Field<Sought, u32> = |sought| &mut sought.limit;
        const CURSOR: Parse<Sought> = |sought, cursor| put(&mut sought.place, page::cursor(cursor).map(Some));
    }

    #[test]
    fn a_query_is_read_by_the_declaration_of_its_list() {
        let cursor = page::cursor_at(&7).unwrap();
        let query = format!("colour=blue&name=a%20b&label.team=x&label.of=y&size=3&limit=9&cursor={cursor}");
        let sought = read::<Things>(&query).unwrap();
        assert_eq!((sought.name.as_deref(), sought.colour, sought.size), (Some("a b"), Some("blue"), Some(3)));
        assert_eq!((sought.limit, sought.place, sought.labels.len()), (9, Some(7), 2));
        assert_eq!(sought.labels["team"], "x");
        assert!(read::<Things>("since=2026-01-31T12:00:00Z").unwrap().since.is_some());
        assert_eq!(read::<Things>("").unwrap().limit, SIZES.default);
    }

    #[test]
    fn no_filter_takes_a_text_that_the_database_cannot_have() {
        let problem = read::<Things>("name=a%00b&colour=%00&size=%00&since=%00").unwrap_err();
        assert_eq!(problem.pointers(), ["/name", "/colour", "/size", "/since"]);
        assert!(problem.document("").to_string().contains(NO_ZERO_BYTE));
        assert_eq!(read::<Things>("label.team=a%00b").unwrap().labels["team"], "a\0b");
    }

    #[test]
    fn every_mistake_of_a_query_is_told_by_the_declaration_of_its_list() {
        let query = "colour=green&since=now&size=x&label.=a&limit=0&cursor=%21&shape=round";
        let problem = read::<Things>(query).unwrap_err();
        let document = problem.document("").to_string();
        assert_eq!(problem.pointers(), ["/colour", "/since", "/size", "/label.", "/limit", "/cursor", "/shape"]);
        assert!(document.contains("Must be one of red, blue.") && document.contains("Must be a size."), "{document}");
        let all = "`limit`, `cursor`, `name`, `since`, `colour`, `label.NAME`, `size`";
        assert!(document.contains(all), "{document}");
    }
}
