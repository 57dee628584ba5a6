//! A body as a form: the members of a JSON object become pairs of names and values.
//!
//! A form has no types and no levels, so that services agree on names such as `card[number]` for a
//! member of an object, and repeat the name for each item of a list.

use crate::reader::{self, Unexpected};

/// The pairs of an object, from its JSON text.
///
/// # Errors
/// If the text is not an object.
pub fn pairs(object: &str) -> Result<Vec<(String, String)>, Unexpected> {
    let mut pairs = Vec::new();
    for member in reader::members(object)? {
        add(&mut pairs, member.name.into_owned(), member.value, false)?;
    }
    Ok(pairs)
}

/// Adds a value. `is_inner` is `true` inside of an object or a list, where the name of a list needs
/// brackets.
fn add(pairs: &mut Vec<(String, String)>, name: String, value: &str, is_inner: bool) -> Result<(), Unexpected> {
    if value.starts_with('{') {
        for member in reader::members(value)? {
            add(pairs, format!("{name}[{}]", member.name), member.value, true)?;
        }
    } else if value.starts_with('[') {
        for (index, item) in reader::items(value)?.into_iter().enumerate() {
            let name = match item.starts_with(['{', '[']) {
                true => format!("{name}[{index}]"),
                false if is_inner => format!("{name}[]"),
                false => name.clone(),
            };
            add(pairs, name, item, true)?;
        }
    } else {
        // Null is empty: a form has no other value that means "none".
        pairs.push((name, reader::scalar(value).unwrap_or_default().into_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(object: &str) -> String {
        let pairs = pairs(object).unwrap_or_default();
        pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    }

    #[test]
    fn members_of_objects_and_items_of_lists_have_names_of_their_own() {
        for (object, form) in [
            ("{}", ""),
            (r#"{"a":1,"b":"x y","c":true,"d":null}"#, "a=1&b=x y&c=true&d="),
            (r#"{ "card" : { "number" : "42", "at": {"year": 2030} } }"#, "card[number]=42&card[at][year]=2030"),
            (r#"{"ids":["1",2],"expand[]":["a","b"],"none":[],"empty":{}}"#, "ids=1&ids=2&expand[]=a&expand[]=b"),
            (
                r#"{"lines":[{"price":1,"tags":["x","y"]},{"price":2}]}"#,
                "lines[0][price]=1&lines[0][tags][]=x&lines[0][tags][]=y&lines[1][price]=2",
            ),
            (r#"{"grid":[[1,2],[3]]}"#, "grid[0][]=1&grid[0][]=2&grid[1][]=3"),
            (r#"{"text":"\u00fc\"=&"}"#, "text=ü\"=&"),
        ] {
            assert_eq!(written(object), form, "{object}");
        }
        assert!(pairs("[1]").is_err());
    }
}
