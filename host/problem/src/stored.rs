//! The stored form of a problem: its kind by its name, which never changes, its status as a number,
//! and its headers as texts. A gateway of an earlier version reads it without the headers.

/// A kind, by its name. A gateway that does not know the kind cannot read the problem.
pub(super) mod kind {
    use std::borrow::Cow;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::{KINDS, Kind};

    /// Writes the name.
    pub(crate) fn serialize<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(kind.name)
    }

    /// Finds the kind with the name.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Kind, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        let known = KINDS.iter().find(|kind| kind.name == name);
        known.copied().ok_or_else(|| D::Error::custom("the kind of the problem is unknown"))
    }
}

/// A status, as a number.
pub(super) mod status {
    use hyper::StatusCode;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the number.
    pub(crate) fn serialize<S: Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(status.as_u16())
    }

    /// Reads the number.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StatusCode, D::Error> {
        StatusCode::from_u16(u16::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Headers, as pairs of texts.
pub(super) mod headers {
    use hyper::header::{HeaderName, HeaderValue};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the names and the values. A value that is not UTF-8 is left out.
    pub(crate) fn serialize<S: Serializer>(
        headers: &[(HeaderName, HeaderValue)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            headers.iter().filter_map(|(name, value)| Some((name.as_str(), str::from_utf8(value.as_bytes()).ok()?))),
        )
    }

    /// Reads the headers.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, D::Error> {
        let pairs = Vec::<(String, String)>::deserialize(deserializer)?;
        let header = |(name, value): (String, String)| {
            Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
        };
        Ok(pairs.into_iter().filter_map(header).collect())
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use crate::{Problem, UPSTREAM_FAILED};
    use contract::Owner;

    #[test]
    fn a_stored_problem_is_the_same_again() {
        let problem = UPSTREAM_FAILED.with_detail("It failed.").retry_after(7).owner(Owner::User).of_unknown_outcome();
        let header =
            |value: &'static str| (HeaderName::from_static("x-upstream-link"), HeaderValue::from_static(value));
        let problem = [header("</a>"), header("</b>")]
            .into_iter()
            .fold(problem, |problem, (name, value)| problem.header(name, value));
        let stored = serde_json::to_vec(&problem).unwrap();
        let again: Problem = serde_json::from_slice(&stored).unwrap();
        assert_eq!(again.document("x"), problem.document("x"));
        let again = again.into_response("x");
        assert_eq!(again.headers(), problem.into_response("x").headers());
        assert_eq!(again.headers().get_all("x-upstream-link").iter().count(), 2);
    }

    #[test]
    fn the_stored_form_never_changes() {
        let stored = json!({
            "kind": "upstream-failed", "status": 502, "detail": "It failed.", "owner": "user", "retryable": false,
            "retry_after_s": 7, "members": {"outcome": "unknown"}
        });
        let problem: Problem = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(&problem).unwrap(), stored);
    }

    #[test]
    fn a_problem_of_an_unknown_kind_cannot_be_read() {
        let stored = json!({
            "kind": "of-a-newer-gateway", "status": 502, "detail": "", "owner": "user", "retryable": false,
            "retry_after_s": null, "members": {}
        });
        assert!(serde_json::from_value::<Problem>(stored).is_err());
    }
}
