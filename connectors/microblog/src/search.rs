//! The search for posts of the last seven days.

use connector_sdk::{Fault, Outcome, Request};

use crate::request::with_list;
use crate::{TweetSearch, settings, times};

/// Forwards the search.
///
/// # Errors
/// [`Fault::InvalidInput`] if a time does not exist, or if the period is empty.
pub(crate) fn recent(input: TweetSearch) -> Result<Outcome, Fault> {
    let start = times::read("start_time", input.start_time.as_ref())?;
    let end = times::read("end_time", input.end_time.as_ref())?;
    if let (Some(start), Some(end)) = (start, end)
        && start >= end
    {
        return Err(Fault::invalid_input("/start_time", "Give a time before `end_time`."));
    }
    let mut request = Request::get("api", "/tweets/search/recent");
    request = request.query("query", in_language(&input.query, input.lang.as_deref()));
    for (name, value) in [
        ("end_time", end.map(times::write).transpose()?),
        ("start_time", start.map(times::write).transpose()?),
        ("sort_order", input.sort_order),
        ("max_results", input.max_results.map(|number| number.to_string())),
        ("since_id", input.since_id),
        ("until_id", input.until_id),
        ("next_token", input.next_token),
    ] {
        if let Some(value) = value {
            request = request.query(name, value);
        }
    }
    for (name, items) in [
        (settings::post_fields()?.as_str(), &input.tweet_fields),
        ("expansions", &input.expansions),
        ("media.fields", &input.media_fields),
        ("place.fields", &input.place_fields),
        ("poll.fields", &input.poll_fields),
        ("user.fields", &input.user_fields),
    ] {
        request = with_list(request, name, items.as_ref());
    }
    Ok(Outcome::Forward(request))
}

/// The query restricted to a language. X has an operator for it and no parameter. The operator
/// binds tighter than `OR`.
fn in_language(query: &str, language: Option<&str>) -> String {
    match language {
        None => query.to_owned(),
        Some(language) if has_alternatives(query) => format!("({query}) lang:{language}"),
        Some(language) => format!("{query} lang:{language}"),
    }
}

/// Returns `true` if the query has the word `OR` outside of quotes.
fn has_alternatives(query: &str) -> bool {
    // Every second part is between quotes.
    let unquoted = query.split('"').step_by(2);
    unquoted
        .flat_map(|part| part.split(|end: char| end.is_whitespace() || matches!(end, '(' | ')')))
        .any(|word| word == "OR")
}

#[cfg(test)]
mod tests {
    use super::in_language;

    #[test]
    fn a_language_restricts_the_whole_query() {
        for (query, expected) in [
            ("rust wasm -is:retweet", "rust wasm -is:retweet lang:en"),
            ("rust OR wasm", "(rust OR wasm) lang:en"),
            ("(rust OR wasm) -spam", "((rust OR wasm) -spam) lang:en"),
            ("rust (OR)", "(rust (OR)) lang:en"),
            ("rust\tOR\twasm", "(rust\tOR\twasm) lang:en"),
            ("\"rust\"OR\"wasm\"", "(\"rust\"OR\"wasm\") lang:en"),
            ("\"to be OR not\" ORB or XOR #OR", "\"to be OR not\" ORB or XOR #OR lang:en"),
            ("\"a\" b \"c OR d", "\"a\" b \"c OR d lang:en"),
        ] {
            assert_eq!(in_language(query, Some("en")), expected);
            assert_eq!(in_language(query, None), query);
        }
    }
}
