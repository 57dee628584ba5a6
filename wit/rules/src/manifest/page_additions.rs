//! The operations whose next page is found from the last item of a page (`page-additions`).

use std::collections::BTreeSet;

use super::violations::Violations;
use super::{Manifest, Pagination, Violation, shorten};
use crate::text::line;
use crate::{ensure, pointer};

/// An operation whose next page is found from the last item of a page.
#[derive(Clone, Copy, Debug)]
pub struct LastItem<'a> {
    /// The name of the operation.
    pub operation: &'a str,
    /// JSON Pointer to the boolean that is false or absent on the last page.
    pub more: Option<&'a str>,
}

/// Checks the declarations against the manifest that `describe` returned after them. Returns every
/// rule that they break.
#[must_use]
pub fn check_page_additions(manifest: &Manifest<'_>, declared: &[LastItem<'_>]) -> Vec<Violation> {
    let mut found = Violations(Vec::new());
    let mut seen = BTreeSet::new();
    for LastItem { operation, more } in declared {
        let part = || format!("last item of `{}`", shorten(operation));
        found.add(part(), ensure(seen.insert(operation), "it is declared twice"));
        match manifest.operations.iter().find(|known| known.path == *operation) {
            None => found.add(part(), Err("the manifest has no operation of this name".into())),
            Some(known) => {
                let has_cursor = known.pagination.as_ref().is_some_and(is_cursor);
                found.add(part(), ensure(has_cursor, "its operation has a `pagination` whose `next` is `cursor`"));
            }
        }
        if let Some(more) = more {
            let form = line(more).and_then(|()| pointer::check(more));
            let leads = || ensure(!more.is_empty(), "the answer is no boolean, so the pointer leads to a member of it");
            found.add(format!("{}, `more`", part()), form.and_then(|()| leads()));
        }
    }
    found.0
}

fn is_cursor(pages: &Pagination<'_>) -> bool {
    pages.next.is_some() && pages.parameter.is_none()
}

#[cfg(test)]
mod tests {
    use super::super::tests::manifest;
    use super::*;

    fn broken(manifest: &Manifest<'_>, declared: &[LastItem<'_>]) -> Vec<String> {
        check_page_additions(manifest, declared).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_last_item_is_declared_once_for_an_operation_with_a_cursor() {
        let list = LastItem { operation: "list", more: Some("/has_more") };
        assert_eq!(broken(&manifest(), &[list]), [""; 0]);
        assert_eq!(broken(&manifest(), &[LastItem { more: None, ..list }]), [""; 0]);
        let one = |manifest: &Manifest<'_>, declared: &[LastItem<'_>], words: &str| {
            let found = broken(manifest, declared);
            assert!(matches!(found.as_slice(), [only] if only.contains(words)), "{words}: {found:?}");
        };
        one(&manifest(), &[list, list], "declared twice");
        one(&manifest(), &[LastItem { operation: "other", ..list }], "no operation of this name");
        one(&manifest(), &[LastItem { more: Some("has_more"), ..list }], "begins with `/`");
        one(&manifest(), &[LastItem { more: Some("/has\nmore"), ..list }], "line break");
        one(&manifest(), &[LastItem { more: Some(""), ..list }], "leads to a member");
        let with = |next, parameter| {
            let mut manifest = manifest();
            if let Some(pages) = &mut manifest.operations[0].pagination {
                (pages.next, pages.parameter) = (next, parameter);
            }
            manifest
        };
        one(&with(None, None), &[list], "`next` is `cursor`");
        one(&with(Some("/next"), Some("page")), &[list], "`next` is `cursor`");
        let mut without = manifest();
        without.operations[0].pagination = None;
        one(&without, &[list], "`next` is `cursor`");
    }
}
