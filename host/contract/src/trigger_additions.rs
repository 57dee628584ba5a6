//! The declarations of `trigger-additions` in the form that the rules take.

use contract_rules::manifest::{About, Manifest, Violation, check_trigger_additions};

use crate::Additions;
use crate::trigger_types as wit;

/// The rules of inboxes and types of events.
pub(crate) fn check(manifest: &Manifest<'_>, additions: &Additions) -> Vec<Violation> {
    let inboxes: Vec<_> = additions.inboxes.iter().map(inbox).collect();
    let triggers: Vec<_> = additions.triggers.iter().map(trigger).collect();
    let rows: Vec<&str> = additions.rows.iter().map(|declared| declared.operation.as_str()).collect();
    check_trigger_additions(&About::of(manifest, &rows), &inboxes, &triggers)
}

contract_rules::trigger_view!(wit);
