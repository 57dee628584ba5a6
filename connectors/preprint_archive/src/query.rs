//! arXiv's query language: terms such as `ti:"electron"` and `cat:cs.LG`, joined with `AND`, `OR`
//! and `ANDNOT`.

use connector_sdk::{Fault, clock};

use crate::SearchPapers;
use crate::dates::{Edge, Minute};

/// The minute before arXiv's oldest paper.
const BEGINNING: &str = "199101010000";

const PREFIXES: [&str; 11] =
    ["ti:", "au:", "abs:", "co:", "jr:", "cat:", "rn:", "id:", "all:", "submittedDate:", "lastUpdatedDate:"];

/// The criteria that the caller gave, joined with `AND`. `None` if there are no criteria.
///
/// # Errors
/// [`Fault::InvalidInput`] for an unknown category or an invalid date.
pub(crate) fn of(input: &SearchPapers) -> Result<Option<String>, Fault> {
    let mut criteria = Vec::new();
    if let Some(query) = given(input.search_query.as_deref()) {
        criteria.push(format!("({})", own_query(query)));
    }
    let categories = input.category.as_ref().map(|categories| categories.0.as_slice()).unwrap_or_default();
    if !categories.is_empty() {
        criteria.push(any_category(categories, "category")?);
    }
    for (prefix, text) in [("ti", &input.title), ("au", &input.author), ("abs", &input.r#abstract)] {
        let phrase = text.as_deref().map(|text| text.replace('"', ""));
        if let Some(phrase) = given(phrase.as_deref()) {
            criteria.push(format!("{prefix}:\"{phrase}\""));
        }
    }
    criteria.extend(submitted(given(input.submitted_after.as_deref()), given(input.submitted_before.as_deref()))?);
    Ok((!criteria.is_empty()).then(|| criteria.join(" AND ")))
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// `(cat:cs.AI OR cat:cs.LG)`
pub(crate) fn any_category(categories: &[impl AsRef<str>], field: &str) -> Result<String, Fault> {
    let mut query = String::from("(");
    for (index, category) in categories.iter().map(|category| category.as_ref().trim()).enumerate() {
        // Other characters could close the parenthesis and change the query around it.
        if category.is_empty() || !category.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-*".contains(&byte)) {
            let at = if categories.len() == 1 { format!("/{field}") } else { format!("/{field}/{index}") };
            return Err(Fault::invalid_input(at, "Give a category such as cs.LG; get_categories lists them."));
        }
        if index > 0 {
            query.push_str(" OR ");
        }
        query.push_str("cat:");
        query.push_str(category);
    }
    query.push(')');
    Ok(query)
}

/// `submittedDate:[202601010000 TO 202601312359]`, in GMT.
fn submitted(after: Option<&str>, before: Option<&str>) -> Result<Option<String>, Fault> {
    if after.is_none() && before.is_none() {
        return Ok(None);
    }
    let parse = |text: Option<&str>, edge, field: &str| match text.map(|text| Minute::parse(text, edge)) {
        Some(None) => Err(Fault::invalid_input(
            format!("/{field}"),
            "Give a date such as 2026-01-31, or a date-time such as 2026-01-31T12:00:00Z.",
        )),
        Some(minute) => Ok(minute),
        None => Ok(None),
    };
    let after = parse(after, Edge::First, "submitted_after")?;
    let before = parse(before, Edge::Last, "submitted_before")?;
    if let (Some(after), Some(before)) = (after, before)
        && after > before
    {
        return Err(Fault::invalid_input("/submitted_before", "Give a date that is not earlier than submitted_after."));
    }
    let from = after.map_or_else(|| BEGINNING.to_owned(), Minute::compact);
    let to = match before {
        Some(before) => before,
        None => Minute::of_milliseconds(clock::now())?,
    };
    Ok(Some(submitted_between(&from, &to.compact())))
}

pub(crate) fn submitted_between(from: &str, to: &str) -> String {
    format!("submittedDate:[{from} TO {to}]")
}

/// A query with a prefix is already in the query language. Plain words become phrases, and a paper
/// must contain all of them.
fn own_query(query: &str) -> String {
    if has_prefix(query) { query.to_owned() } else { from_words(query) }
}

fn has_prefix(query: &str) -> bool {
    let starts = |text: &str| PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    // A prefix in a quoted phrase is text. The pieces outside of quotes have even indices.
    let outside = query.split('"').step_by(2);
    outside.flat_map(|text| text.split([' ', '(', '\t', '\n', '+'])).any(starts)
}

/// `cats "big dogs"` becomes `all:"cats" AND all:"big dogs"`. `AND`, `OR` and `ANDNOT` between two
/// words stay operators. Parentheses stay if all of them match.
fn from_words(query: &str) -> String {
    let mut tokens = tokens(query);
    if !is_balanced(&tokens) {
        tokens.retain(|token| !matches!(token, Token::Open | Token::Close));
    }
    let mut out = String::new();
    let mut pending: Option<&str> = None;
    let mut after_operand = false;
    for (index, token) in tokens.iter().enumerate() {
        let ends_here = tokens.get(index + 1).is_none_or(|next| matches!(next, Token::Close | Token::Operator(_)));
        match token {
            Token::Operator(operator) if after_operand && !ends_here => {
                pending = Some(operator);
                after_operand = false;
            }
            Token::Open => {
                join(&mut out, &mut pending, after_operand);
                out.push('(');
                after_operand = false;
            }
            Token::Close => {
                out.push(')');
                after_operand = true;
            }
            Token::Operator(text) | Token::Text(text) => {
                join(&mut out, &mut pending, after_operand);
                out.push_str("all:\"");
                out.push_str(text);
                out.push('"');
                after_operand = true;
            }
        }
    }
    out
}

fn join(out: &mut String, pending: &mut Option<&str>, after_operand: bool) {
    if let Some(operator) = pending.take().or(after_operand.then_some("AND")) {
        out.push(' ');
        out.push_str(operator);
        out.push(' ');
    }
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    Open,
    Close,
    Operator(&'a str),
    Text(&'a str),
}

fn tokens(query: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (index, piece) in query.split('"').enumerate() {
        if index % 2 == 1 {
            if let Some(phrase) = given(Some(piece)) {
                tokens.push(Token::Text(phrase));
            }
            continue;
        }
        for word in piece.split_whitespace() {
            let mut rest = word;
            while let Some(at) = rest.find(['(', ')']) {
                let (text, tail) = rest.split_at(at);
                tokens.extend(token(text));
                tokens.push(if tail.starts_with('(') { Token::Open } else { Token::Close });
                rest = tail.get(1..).unwrap_or_default();
            }
            tokens.extend(token(rest));
        }
    }
    tokens
}

fn token(text: &str) -> Option<Token<'_>> {
    match text {
        "" => None,
        "AND" | "OR" | "ANDNOT" => Some(Token::Operator(text)),
        _ => Some(Token::Text(text)),
    }
}

/// Returns `true` if every parenthesis has its counterpart and no pair is empty.
fn is_balanced(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0_u32;
    let mut previous = None;
    for token in tokens {
        match token {
            Token::Open => depth += 1,
            Token::Close if depth == 0 || previous == Some(&Token::Open) => return false,
            Token::Close => depth -= 1,
            _ => {}
        }
        previous = Some(token);
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use connector_sdk::testing::Gateway;

    use super::{of, own_query};
    use crate::SearchPapers;
    use connector_sdk::input::{Fields, Input};

    fn input(json: &str) -> SearchPapers {
        SearchPapers::read(&Fields::parse(json).expect("an object")).expect("an input")
    }

    fn query(json: &str) -> String {
        of(&input(json)).expect("a query").expect("criteria")
    }

    #[test]
    fn a_query_with_prefixes_is_passed_in_parentheses() {
        assert_eq!(query(r#"{"search_query":"all:electron"}"#), "(all:electron)");
        assert_eq!(
            query(r#"{"search_query":" au:del_maestro ANDNOT (ti:x OR abs:y) "}"#),
            "(au:del_maestro ANDNOT (ti:x OR abs:y))"
        );
    }

    #[test]
    fn plain_words_become_phrases_joined_with_and() {
        assert_eq!(own_query("quantum computing"), r#"all:"quantum" AND all:"computing""#);
        assert_eq!(own_query(r#"cats "big dogs""#), r#"all:"cats" AND all:"big dogs""#);
        assert_eq!(own_query(r#""ti: is no prefix here""#), r#"all:"ti: is no prefix here""#);
    }

    #[test]
    fn operators_between_plain_words_are_kept() {
        assert_eq!(own_query("electron OR proton"), r#"all:"electron" OR all:"proton""#);
        assert_eq!(own_query("(a OR b) ANDNOT c d"), r#"(all:"a" OR all:"b") ANDNOT all:"c" AND all:"d""#);
        assert_eq!(own_query("cats AND"), r#"all:"cats" AND all:"AND""#);
        assert_eq!(own_query("a OR AND b"), r#"all:"a" AND all:"OR" AND all:"b""#);
    }

    #[test]
    fn parentheses_that_do_not_match_are_dropped() {
        assert_eq!(own_query("(a OR b"), r#"all:"a" OR all:"b""#);
        assert_eq!(own_query("f() g"), r#"all:"f" AND all:"g""#);
    }

    #[test]
    fn criteria_are_joined_with_and() {
        let json = r#"{"search_query":"all:electron","category":["cs.LG","stat.ML"],"title":"a \"b\"","author":"X","abstract":"y",
            "submitted_after":"2026-01-01","submitted_before":"2026-01-31T12:00:00Z"}"#;
        assert_eq!(
            query(json),
            "(all:electron) AND (cat:cs.LG OR cat:stat.ML) AND ti:\"a b\" AND au:\"X\" AND abs:\"y\" AND \
             submittedDate:[202601010000 TO 202601311200]"
        );
    }

    #[test]
    fn a_missing_date_means_the_oldest_paper_or_now() {
        let _gateway = Gateway::new().now(1_767_225_600_000);
        assert_eq!(query(r#"{"submitted_after":"2025-12-01"}"#), "submittedDate:[202512010000 TO 202601010000]");
        assert_eq!(query(r#"{"submitted_before":"2025-12-01"}"#), "submittedDate:[199101010000 TO 202512012359]");
    }

    #[test]
    fn a_category_cannot_change_the_query_around_it() {
        for json in [r#"{"category":"cs.LG) OR (all:x"}"#, r#"{"category":["cs.LG",""]}"#] {
            assert!(of(&input(json)).is_err(), "{json}");
        }
    }

    #[test]
    fn blank_criteria_are_ignored() {
        assert!(of(&input(r#"{"search_query":"  ","title":"\""}"#)).expect("no fault").is_none());
    }
}
