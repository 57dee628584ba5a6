//! The declarations that `describe` makes in addition to the manifest.

use contract_rules::manifest as rules;
use rows::Declaration;

use crate::{AuthAdditions, Inbox, Trigger, UpstreamAdditions};

/// The declarations that `describe` makes. The manifest is a record, which cannot grow in a
/// minor version of the contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// About the ways in which accounts get access tokens.
    pub auth: AuthAdditions,
    /// About upstreams.
    pub upstreams: UpstreamAdditions,
    /// The requests of operations.
    pub rows: Vec<DeclaredRow>,
    /// The operations whose next page is found from the last item of a page.
    pub pages: Vec<LastItem>,
    /// The addresses at which the service notifies the gateway.
    pub inboxes: Vec<Inbox>,
    /// The types of events.
    pub triggers: Vec<Trigger>,
}

/// The request of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredRow {
    /// The name of the operation.
    pub operation: String,
    /// The request.
    pub row: Declaration,
    /// Its use.
    pub purpose: Purpose,
}

/// The use of the request of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The operation is the request. The connector is not invoked.
    Sent,
    /// The connector is invoked, and asks for the request.
    Made,
}

/// An operation whose next page is found from the last item of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastItem {
    /// The name of the operation.
    pub operation: String,
    /// JSON Pointer to the boolean of the answer that is false or absent on the last page. `None` if
    /// a page without items follows the last page.
    pub more: Option<String>,
}

impl Additions {
    /// The declaration of an operation's last item. `None` if another part of the answer leads to the
    /// next page.
    pub fn last_item(&self, operation: &str) -> Option<&LastItem> {
        self.pages.iter().find(|declared| declared.operation == operation)
    }

    /// The names of the operations that its triggers name. They have no route, no documentation and no
    /// tool.
    pub fn internal_operations(&self) -> impl Iterator<Item = &str> {
        self.triggers.iter().flat_map(Trigger::operations)
    }

    pub(crate) fn last_items(&self) -> Vec<rules::LastItem<'_>> {
        let pages = self.pages.iter();
        pages.map(|LastItem { operation, more }| rules::LastItem { operation, more: more.as_deref() }).collect()
    }
}

impl Trigger {
    /// The names of the operations that it names.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        let Self { subscribe, renew, unsubscribe, read, recover, identify, .. } = self;
        [subscribe, renew, unsubscribe, read, recover, identify].into_iter().flatten().map(String::as_str)
    }
}
