//! JSON Pointers (RFC 6901).

use std::borrow::Cow;

use crate::{Broken, ensure};

/// Checks the form of a JSON Pointer.
///
/// # Errors
/// The form of a JSON Pointer.
pub fn check(pointer: &str) -> Result<(), Broken> {
    ensure(
        pointer.is_empty() || pointer.starts_with('/'),
        "a JSON Pointer is empty or begins with `/`, as in `/data/items`",
    )?;
    let mut escapes = pointer.split('~').skip(1);
    ensure(escapes.all(|after| after.starts_with(['0', '1'])), "in a JSON Pointer `~0` stands for `~` and `~1` for `/`")
}

/// The JSON Pointer to a member of the root.
#[must_use]
pub fn of(member: &str) -> String {
    format!("/{}", member.replace('~', "~0").replace('/', "~1"))
}

/// The steps of a JSON Pointer, unescaped. The empty pointer has no steps.
pub fn steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|step| {
        if step.contains('~') { Cow::Owned(step.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(step) }
    })
}

#[cfg(test)]
mod tests {
    use super::{check, of, steps};

    #[test]
    fn a_pointer_is_empty_or_begins_with_a_slash() {
        for pointer in ["", "/", "/a/0/b", "/@odata.nextLink", "/a~1b~0"] {
            assert!(check(pointer).is_ok(), "{pointer}");
        }
        for pointer in ["a", "$.a", "/a~", "/a~2"] {
            assert!(check(pointer).is_err(), "{pointer}");
        }
    }

    #[test]
    fn steps_are_unescaped() {
        assert_eq!(steps("/a~1b/~01").collect::<Vec<_>>(), ["a/b", "~1"]);
        assert_eq!(steps("").count(), 0);
        assert_eq!(steps(&of("a/~b")).collect::<Vec<_>>(), ["a/~b"]);
    }
}
