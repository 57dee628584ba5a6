//! A body as a form: the members of a JSON object become pairs of names and values.
//!
//! A form has no types and no levels, so that services agree on names such as `card[number]` for a
//! member of an object, and repeat the name for each item of a list.

use crate::reader::{self, Member};
use crate::refusal::Refusal;
use crate::row::{BodyEncoding, Location, Row};

/// A form may have this many times the bytes of its object.
const GROWTH: usize = 4;

/// A form of a small object may have this many times its bytes: a list of digits, each with its name
/// and the memory of a pair.
const SMALL_GROWTH: usize = 128;

/// A form that is larger than this is not small.
const SMALL_BYTES: usize = 2 << 20;

/// The memory that a pair takes in addition to the bytes of its name and its value.
const PAIR_BYTES: usize = 128;

/// The most memory that the form of an object of this size may take. Each item of a list has the
/// names of everything around it. Without this limit, a long name and a long list would multiply.
#[must_use]
pub fn most_bytes(object: usize) -> usize {
    object.saturating_mul(SMALL_GROWTH).min(SMALL_BYTES).max(object.saturating_mul(GROWTH))
}

/// The same for the form of a row, from its input. The contents of files are not repeated in a form.
#[must_use]
pub fn most_bytes_of_row(row: &Row, input: &str) -> usize {
    let is_file = |member: &Member<'_>| {
        row.fields.iter().any(|field| field.name == member.name && matches!(field.location, Location::File(_)))
    };
    match row.encoding {
        BodyEncoding::Json => 0,
        BodyEncoding::Form => most_bytes(input.len()),
        BodyEncoding::Multipart => {
            let files = reader::each_member(input).flatten().filter(is_file).map(|file| file.value.len()).sum();
            most_bytes(input.len().saturating_sub(files))
        }
    }
}

/// The pairs of an object, from its JSON text.
///
/// # Errors
/// If the text is not an object, or if its form is larger than [`most_bytes`].
pub fn pairs(object: &str) -> Result<Vec<(String, String)>, Refusal> {
    let mut form = Form { pairs: Vec::new(), name: String::new(), room: Room::of(object) };
    for member in reader::each_member(object) {
        let member = member?;
        form.name.clear();
        form.name.push_str(&member.name);
        form.add(member.value, false)?;
    }
    Ok(form.pairs)
}

/// The memory that is left for a form.
pub(crate) struct Room {
    most: usize,
    left: usize,
}

impl Room {
    /// The memory for the form of an object.
    pub(crate) fn of(object: &str) -> Self {
        let most = most_bytes(object.len());
        Self { most, left: most }
    }

    /// Takes bytes before they are allocated.
    ///
    /// # Errors
    /// If so many are not left.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Refusal> {
        let Some(left) = self.left.checked_sub(bytes) else {
            let detail = format!(
                "The form of these values takes more than {} bytes, because each item of a list is sent with the whole name \
                 of the list. Give fewer items, or shorter names.",
                self.most
            );
            return Err(Refusal::input("", detail));
        };
        self.left = left;
        Ok(())
    }
}

/// A form that is being made.
struct Form {
    pairs: Vec<(String, String)>,
    /// Name of the value that is added next. It is copied only into a pair.
    name: String,
    room: Room,
}

impl Form {
    /// Adds a value. `is_inner` is `true` inside of an object or a list, where the name of a list
    /// needs brackets.
    fn add(&mut self, value: &str, is_inner: bool) -> Result<(), Refusal> {
        let outer = self.name.len();
        if value.starts_with('{') {
            for member in reader::each_member(value) {
                let member = member?;
                self.enter(&member.name);
                self.add(member.value, true)?;
                self.name.truncate(outer);
            }
        } else if value.starts_with('[') {
            for (index, item) in reader::each_item(value).enumerate() {
                let item = item?;
                match item.starts_with(['{', '[']) {
                    true => self.enter(&index.to_string()),
                    false if is_inner => self.enter(""),
                    false => {}
                }
                self.add(item, true)?;
                self.name.truncate(outer);
            }
        } else {
            self.room.take(PAIR_BYTES.saturating_add(self.name.len()).saturating_add(value.len()))?;
            // Null is empty: a form has no other value that means "none".
            self.pairs.push((self.name.clone(), reader::scalar(value).unwrap_or_default().into_owned()));
        }
        Ok(())
    }

    /// Appends the name of a part in brackets.
    fn enter(&mut self, part: &str) {
        self.name.push('[');
        self.name.push_str(part);
        self.name.push(']');
    }
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

    /// The memory of the form of an object. `None` if it is refused.
    fn memory(object: &str) -> Option<usize> {
        let pairs = pairs(object).ok()?;
        Some(pairs.iter().map(|(name, value)| PAIR_BYTES + name.len() + value.len()).sum())
    }

    #[test]
    fn a_long_name_and_a_long_list_do_not_multiply() {
        let (name, items) = ("K".repeat(50_000), "0,".repeat(25_000));
        for object in [
            format!(r#"{{"{name}":[{items}0]}}"#),
            format!(r#"{{"metadata":{{"{name}":[{items}0]}}}}"#),
            format!(r#"{{"{name}":[{}{{"a":0}}]}}"#, r#"{"a":0},"#.repeat(25_000)),
        ] {
            let Err(Refusal::Input { pointer, detail }) = pairs(&object) else { panic!("{object:.80}") };
            assert_eq!(pointer, "");
            assert!(detail.contains(&format!("more than {} bytes", most_bytes(object.len()))), "{detail}");
        }
        // Names of parts that are not sent are not copied.
        let object = format!(r#"{{"{name}":[{}{{}}]}}"#, "{},".repeat(25_000));
        assert_eq!(memory(&object), Some(0));
    }

    #[test]
    fn usual_lists_and_large_values_have_room() {
        let ids = (0..10_000).map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(",");
        let values = (0..20_000).map(|id| format!("\"key{id}\":\"{}\"", "v".repeat(60))).collect::<Vec<_>>().join(",");
        for object in [
            r#"{"a":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"#.to_owned(),
            r#"{"payment_method_options":{"allowed":[0,0,0,0,0,0,0,0,0,0,0]}}"#.to_owned(),
            format!(r#"{{"ids":[{ids}]}}"#),
            format!(r#"{{"metadata":{{{values}}}}}"#),
            format!(r#"{{"text":"{}"}}"#, "x".repeat(5_000_000)),
        ] {
            let memory = memory(&object).unwrap_or(usize::MAX);
            assert!(memory <= most_bytes(object.len()), "{object:.80}");
        }
    }
}
