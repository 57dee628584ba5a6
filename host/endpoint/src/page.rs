//! The pages of lists: `limit` and `cursor`, and values of filters.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use clock::timestamp;
use problem::{Problem, read_query};

/// How many entries a page of a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// If the caller does not say how many.
    pub default: u32,
    /// The most.
    pub max: u32,
}

/// The sizes of most lists.
pub const SIZES: Sizes = Sizes { default: 50, max: 200 };

/// The parameter `limit`.
pub fn limit(value: &str, Sizes { max, .. }: Sizes) -> Result<u32, String> {
    let limit = value.parse().ok().filter(|limit| (1..=max).contains(limit));
    limit.ok_or_else(|| format!("Must be a whole number from 1 to {max}."))
}

/// The parameter `cursor`: the place of the last entry of the previous page.
pub fn cursor<T: DeserializeOwned>(value: &str) -> Result<T, String> {
    let bytes = URL_SAFE_NO_PAD.decode(value).ok();
    let place = bytes.and_then(|bytes| {
        let place = serde_json::from_slice(&bytes).ok()?;
        // No entry is at a place with a zero byte, and PostgreSQL cannot compare with it.
        let has_zero_byte = bytes.contains(&b'\\') && has_zero_byte(&serde_json::from_slice(&bytes).ok()?);
        (!has_zero_byte).then_some(place)
    });
    place.ok_or_else(|| "Must be the `next_cursor` of the previous page.".to_owned())
}

/// Returns `true` if a text in the value has a zero byte. In JSON, such a text has an escape.
fn has_zero_byte(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_zero_byte),
        Value::Object(members) => members.values().any(has_zero_byte),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The place of an entry in a list that is ordered by time, and by id where times are the same.
pub fn place_in_time<T>(time: SystemTime, id: T) -> (u64, T) {
    let millis = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    (millis.try_into().unwrap_or(u64::MAX), id)
}

/// The parameter `cursor` of a list that is ordered as in [`place_in_time`].
pub fn cursor_in_time<T: DeserializeOwned>(value: &str) -> Result<Option<(SystemTime, T)>, String> {
    let (millis, id): (u64, T) = cursor(value)?;
    Ok(UNIX_EPOCH.checked_add(Duration::from_millis(millis)).map(|time| (time, id)))
}

/// The parameter `cursor` of a list of jobs: the id of the last job of the previous page.
///
/// # Errors
/// If it is not the id of a job.
pub fn job(value: &str) -> Result<String, String> {
    let digits = value.strip_prefix("job_").filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    digits.map(|_| value.to_owned()).ok_or_else(|| "Must be the `next_cursor` of the previous page.".to_owned())
}

/// A parameter that is a time.
pub fn time(value: &str) -> Result<SystemTime, String> {
    timestamp::parse(value).map_err(|error| error.to_string())
}

/// A parameter whose value is one of some names.
pub fn one_of(value: &str, names: &[&'static str]) -> Result<&'static str, String> {
    let found = names.iter().copied().find(|name| *name == value);
    found.ok_or_else(|| format!("Must be one of {}.", names.join(", ")))
}

/// Reads the query of a list that has no filters.
pub fn read_place<T: DeserializeOwned>(query: &str) -> Result<(u32, Option<T>), Problem> {
    let (mut size, mut after) = (SIZES.default, None);
    read_query(query, &["limit", "cursor"], |name, value| {
        match name {
            "limit" => size = limit(value, SIZES)?,
            _ => after = Some(cursor(value)?),
        }
        Ok(())
    })?;
    Ok((size, after))
}

/// Cuts a page out of a whole list, which is ordered by `place`. Returns the cursor of the next
/// page.
pub fn cut<T, P: Serialize + Ord>(
    list: &mut Vec<T>,
    limit: u32,
    after: Option<&P>,
    place: impl Fn(&T) -> P,
) -> Option<String> {
    if let Some(after) = after {
        list.retain(|entry| place(entry) > *after);
    }
    next_cursor(list, limit, place)
}

/// Takes the entry after the last one of a page off, which shows if there is a next page. Returns
/// the cursor of that page.
pub fn next_cursor<T, P: Serialize>(found: &mut Vec<T>, limit: u32, place: impl Fn(&T) -> P) -> Option<String> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| has_more)?;
    cursor_at(&place(last))
}

/// The cursor of the page after the entry with this place.
pub fn cursor_at(place: &impl Serialize) -> Option<String> {
    serde_json::to_vec(place).ok().map(|place| URL_SAFE_NO_PAD.encode(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_the_place_of_the_last_entry_of_a_page() {
        let mut found = vec![1, 2, 3];
        let next = next_cursor(&mut found, 2, |number| (*number, "x")).unwrap();
        assert_eq!((found, cursor::<(u32, String)>(&next)), (vec![1, 2], Ok((2, "x".to_owned()))));
        assert_eq!(next_cursor(&mut vec![1, 2], 2, |number| *number), None);
        assert!(cursor::<u32>(&next).is_err() && cursor::<u32>("?").is_err());
    }

    #[test]
    fn a_cursor_leads_to_no_text_that_the_database_cannot_have() {
        for text in ["a\0b", "\0"] {
            let made = cursor_at(&(7, Some(text))).unwrap();
            assert!(cursor::<(u32, Option<String>)>(&made).is_err(), "{text:?}");
            assert!(cursor_in_time::<Option<String>>(&made).is_err(), "{text:?}");
        }
        let made = cursor_at(&["\\u0000"]).unwrap();
        assert_eq!(cursor::<Vec<String>>(&made), Ok(vec!["\\u0000".to_owned()]), "the text of an escape");
    }

    #[test]
    fn a_whole_list_is_cut_into_pages() {
        let page = |query: &str| {
            let (limit, after) = read_place::<u32>(query).unwrap();
            let mut list = vec![1, 2, 3, 4, 5];
            let next = cut(&mut list, limit, after.as_ref(), |number| *number);
            (list, next)
        };
        let (first, next) = page("limit=2");
        let (second, last) = page(&format!("limit=3&cursor={}", next.unwrap()));
        assert_eq!((first, second, last), (vec![1, 2], vec![3, 4, 5], None));
        assert_eq!(page("").0.len(), 5);
        let document = read_place::<u32>("limit=0&cursor=?&state=x").unwrap_err().document("");
        assert_eq!(document["errors"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn limits_and_times_are_checked() {
        let sizes = Sizes { default: 3, max: 9 };
        assert_eq!((limit("1", sizes), limit("9", sizes)), (Ok(1), Ok(9)));
        for wrong in ["0", "10", "", "-1", "x"] {
            assert!(limit(wrong, sizes).is_err(), "{wrong}");
        }
        assert!(time("2026-01-31T12:00:00.123Z").is_ok());
        assert!(time("2026-01-31").is_err() && time("yesterday").is_err());
    }
}
