//! The media types of files that a caller takes as bytes.

use body::media_type::{essence, is_json, is_zero_weight};

/// The media types of files that a caller takes as bytes. It gets other files in their JSON form.
#[derive(Clone, Copy, Debug)]
pub enum Accept<'a> {
    /// Those that the header `Accept` names, if there is one.
    Named(Option<&'a str>),
    /// Every media type.
    AnyFile,
}

impl Accept<'_> {
    /// Returns `true` if the caller takes a file of this media type as bytes.
    pub(super) fn is_raw(self, media_type: &str) -> bool {
        match self {
            Self::Named(accept) => accept.is_some_and(|accept| names(accept, media_type)),
            Self::AnyFile => true,
        }
    }

    /// Returns `true` if the caller takes a file of some media type as bytes.
    pub(super) fn may_be_a_file(self) -> bool {
        match self {
            Self::Named(accept) => accept.is_some_and(names_a_file),
            Self::AnyFile => true,
        }
    }
}

/// Returns `true` if an `Accept` header names a media type itself, not by a wildcard.
fn names(accept: &str, media_type: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        parts.next().is_some_and(|named| named.eq_ignore_ascii_case(media_type)) && !parts.any(is_zero_weight)
    })
}

/// Returns `true` if an `Accept` header names the media type of a file, so that the caller may get
/// bytes.
fn names_a_file(accept: &str) -> bool {
    accept.split(',').map(essence).any(|named| !named.is_empty() && !named.contains('*') && !is_json(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_media_type_that_accept_names_is_answered_as_bytes() {
        assert!(names("application/pdf", "application/pdf"));
        assert!(names("application/json;q=0.5, Application/PDF; q=1", "application/pdf"));
        assert!(!names("*/*", "application/pdf"));
        assert!(!names("application/*", "application/pdf"));
        assert!(!names("application/pdf;q=0, */*", "application/pdf"));
        assert!(!names("application/pdf; q=0.", "application/pdf"));
        assert!(names_a_file("application/json, image/png;q=0.5"));
        assert!(!names_a_file("*/*") && !names_a_file("application/json, image/*") && !names_a_file(""));
    }
}
