//! The inboxes and types of events of a connector (`trigger-additions`).
//!
//! - here: all declarations together, and the rules that inboxes and types of events share.
//! - `about`: the parts of the manifest that they refer to.
//! - `inbox`: one inbox, its handshakes, and the accounts that it names.
//! - `check`: the proofs that a notification comes from the service.
//! - `trigger`: one type of events.
//! - `operations`: the operations that types of events name.
//! - `view`: the generated types of the contract in the form that the rules take.

mod about;
mod check;
mod inbox;
mod operations;
#[cfg(test)]
mod tests;
mod trigger;
mod view;

use std::collections::HashSet;

pub use self::about::{About, AboutOperation};
use super::check::distinct;
use super::violations::Violations;
use super::{Violation, shorten};
use crate::limit::{INBOXES, TRIGGER_ITEMS, TRIGGER_TEXT_BYTES, TRIGGERS};
use crate::text::line;
use crate::trigger::{Inbox, Place, Trigger};
use crate::{Broken, ensure, header, name, pointer};

/// Checks the declarations against the manifest that `describe` returned after them. Returns every
/// rule that they break.
#[must_use]
pub fn check_trigger_additions(about: &About<'_>, inboxes: &[Inbox], triggers: &[Trigger]) -> Vec<Violation> {
    let mut found = Violations(Vec::new());
    distinct("inbox", inboxes.iter().map(|inbox| inbox.name.as_str()), INBOXES, name::inbox, &mut found);
    distinct("trigger", triggers.iter().map(|trigger| trigger.name.as_str()), TRIGGERS, name::trigger, &mut found);
    for inbox in inboxes {
        inbox::check(about, inbox, &mut found);
    }
    for trigger in triggers {
        trigger::check(about, inboxes, trigger, &mut found);
    }
    operations::check(about, triggers, &mut found);
    found.0
}

/// A text that the gateway compares or looks for: in one line, and not empty.
fn given(text: &str) -> Result<(), Broken> {
    ensure(!text.is_empty(), "the text is not empty")?;
    maybe_empty(text)
}

fn maybe_empty(text: &str) -> Result<(), Broken> {
    ensure(text.len() <= TRIGGER_TEXT_BYTES, "the text has at most 256 bytes")?;
    line(text)
}

/// A JSON Pointer.
fn leads(text: &str) -> Result<(), Broken> {
    maybe_empty(text)?;
    pointer::check(text)
}

fn place(place: &Place) -> Result<(), Broken> {
    match place {
        Place::Header(name) => maybe_empty(name).and_then(|()| header::read(name)),
        Place::HeaderField((name, field)) => {
            maybe_empty(name)?;
            header::read(name)?;
            given(field)?;
            ensure(!field.contains(['=', ',']), "the name of a field of a header has no `=` and no `,`")
        }
        Place::Pointer(text) => leads(text),
        Place::Query(name) => given(name),
        Place::BodyHash => Ok(()),
    }
}

/// A place in a request whose body is not yet trusted.
fn is_outside_of_body(place: &Place) -> bool {
    matches!(place, Place::Header(_) | Place::HeaderField(_) | Place::Query(_))
}

/// The number of items of a list that has no other limit.
fn few(list: &[impl Sized]) -> Result<(), Broken> {
    ensure(list.len() <= TRIGGER_ITEMS, "at most 64")
}

/// The items are not empty, and none is there twice.
fn texts(part: &str, list: &[String], found: &mut Violations) {
    found.add(part, few(list));
    let mut seen = HashSet::new();
    for text in list.iter().take(TRIGGER_ITEMS) {
        let of_text = || format!("{part} `{}`", shorten(text));
        found.add(of_text(), given(text));
        found.add(of_text(), ensure(seen.insert(text), "it is there twice"));
    }
}

fn setting(about: &About<'_>, name: &str) -> Result<(), Broken> {
    match about.settings.contains(&name) {
        true => Ok(()),
        false => Err(format!("there is no setting `{}`", shorten(name)).into()),
    }
}

/// A JSON Pointer into the answer of the operation that identifies accounts.
fn of_account(about: &About<'_>, text: &str) -> Result<(), Broken> {
    ensure(
        about.identity.is_some(),
        "the value is in the answer of an operation, which the auth scheme names in `identity` or `check`",
    )?;
    leads(text)
}
