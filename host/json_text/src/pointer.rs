//! JSON Pointers (RFC 6901) into the text of a value.

use std::convert::Infallible;

use serde_json::value::RawValue;

use super::{each_element, each_member};

/// The value at a JSON Pointer, as its text without the white space around it. `None` if there is
/// none, or if the text is not JSON.
///
/// Of members of the same name, the last one counts, as in most parsers. The search reads the value
/// at each step of the pointer, and takes no memory for what it passes over.
pub fn at<'a>(text: &'a str, pointer: &str) -> Option<&'a RawValue> {
    let mut found: &'a RawValue = serde_json::from_str(text).ok()?;
    let steps = match pointer.strip_prefix('/') {
        Some(steps) => steps,
        None => return pointer.is_empty().then_some(found),
    };
    for step in steps.split('/') {
        found = match found.get().as_bytes().first()? {
            b'{' => member(found.get(), &unescaped(step))?,
            b'[' => element(found.get(), step)?,
            _ => return None,
        };
    }
    Some(found)
}

fn member<'a>(object: &'a str, name: &str) -> Option<&'a RawValue> {
    let mut last = None;
    each_member(object, |member, value| {
        if member == name {
            last = Some(value);
        }
        Ok::<_, Infallible>(())
    })
    .ok()?;
    last
}

fn element<'a>(list: &'a str, index: &str) -> Option<&'a RawValue> {
    let is_index = index == "0" || !index.starts_with('0') && index.bytes().all(|byte| byte.is_ascii_digit());
    let mut left = index.parse::<usize>().ok().filter(|_| is_index)?;
    let mut found = None;
    // Stops at the element.
    let _ = each_element(list, |value| match left {
        0 => {
            found = Some(value);
            Err(())
        }
        _ => {
            left -= 1;
            Ok(())
        }
    });
    found
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::at;

    fn text_at(text: &'static str, pointer: &str) -> Option<&'static str> {
        at(text, pointer).map(|value| value.get())
    }

    #[test]
    fn a_pointer_finds_members_items_and_escaped_names() {
        let text = r#" {"a/b": [10, {"m~n": 1.0}], "": 7, "twice": 1, "twice": 2} "#;
        for (pointer, expected) in [
            ("/a~1b/0", Some("10")),
            ("/a~1b/1/m~0n", Some("1.0")),
            ("/", Some("7")),
            ("/twice", Some("2")),
            ("/a~1b/01", None),
            ("/a~1b/-", None),
            ("/a~1b/+1", None),
            ("/a~1b/2", None),
            ("/a~1b/0/x", None),
            ("/none", None),
            ("a", None),
        ] {
            assert_eq!(text_at(text, pointer), expected, "{pointer}");
        }
        assert_eq!(text_at("\n[1, 2]\t", ""), Some("[1, 2]"));
        assert_eq!(text_at("{", ""), None);
    }
}
