//! A paper in the form of the answer, and its id.

use connector_sdk::Fault;
use serde::Serialize;

/// A paper as callers get it.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Paper {
    /// With the version, as in `2104.12255v1`.
    pub(crate) id: String,
    pub(crate) base_id: String,
    /// `None` for an id without a version.
    pub(crate) version: Option<u32>,
    pub(crate) title: String,
    pub(crate) summary: String,
    pub(crate) published: String,
    pub(crate) updated: String,
    pub(crate) authors: Vec<Author>,
    pub(crate) categories: Vec<Category>,
    pub(crate) primary_category: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) journal_ref: Option<String>,
    pub(crate) doi: Option<String>,
    pub(crate) links: Links,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Author {
    pub(crate) name: String,
    pub(crate) affiliation: Option<String>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Category {
    pub(crate) term: String,
    pub(crate) scheme: Option<String>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Links {
    #[serde(rename = "abstract")]
    pub(crate) abstract_page: Option<String>,
    pub(crate) pdf: Option<String>,
    pub(crate) doi: Option<String>,
}

/// Splits `2104.12255v1` into `2104.12255` and 1.
pub(crate) fn split_version(id: &str) -> (&str, Option<u32>) {
    match id.rsplit_once('v') {
        Some((base, digits)) if base.ends_with(|last: char| last.is_ascii_digit()) => match digits.parse() {
            Ok(version) => (base, Some(version)),
            Err(_) => (id, None),
        },
        _ => (id, None),
    }
}

/// The id that a caller gave, without the prefix `arXiv:`.
///
/// The pattern in the schema says the same. The id is checked again because it becomes a part of a
/// path.
///
/// # Errors
/// [`Fault::InvalidInput`] if it is not an id.
pub(crate) fn parse_id(given: &str) -> Result<&str, Fault> {
    let id = given.strip_prefix("arXiv:").unwrap_or(given);
    let (base, _) = split_version(id);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_archive = |text: &str| {
        let (archive, class) = text.split_once('.').unwrap_or((text, "AA"));
        let lower = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
        !archive.is_empty()
            && archive.bytes().all(lower)
            && class.len() == 2
            && class.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let is_id = match (base.split_once('/'), base.split_once('.')) {
        (Some((archive, number)), _) => is_archive(archive) && number.len() == 7 && digits(number),
        (None, Some((month, number))) => {
            month.len() == 4 && digits(month) && matches!(number.len(), 4 | 5) && digits(number)
        }
        (None, None) => false,
    };
    if is_id {
        Ok(id)
    } else {
        Err(Fault::invalid_input("/paper_id", "Give an arXiv id such as 2104.12255, 2104.12255v1 or hep-ex/0307015."))
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_id, split_version};

    #[test]
    fn ids_of_both_schemes_are_accepted() {
        for id in
            ["2104.12255", "2104.12255v1", "0704.0001", "hep-ex/0307015", "math.GT/0309136v2", "quant-ph/0201082v1"]
        {
            assert_eq!(parse_id(id).expect(id), id);
            assert_eq!(parse_id(&format!("arXiv:{id}")).expect(id), id);
        }
    }

    #[test]
    fn other_ids_are_refused() {
        for id in [
            "",
            "abc",
            "2104.123",
            "2104.123456",
            "../2104.12255",
            "hep-ex/030701",
            "hep-ex/../0307015",
            "2104.12255v",
            "2104.12255?x",
        ] {
            assert!(parse_id(id).is_err(), "{id}");
        }
    }

    #[test]
    fn the_version_follows_the_last_v() {
        assert_eq!(split_version("2104.12255v12"), ("2104.12255", Some(12)));
        assert_eq!(split_version("solv-int/9701001"), ("solv-int/9701001", None));
        assert_eq!(split_version("solv-int/9701001v2"), ("solv-int/9701001", Some(2)));
    }
}
