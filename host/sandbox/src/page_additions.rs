//! The `page-additions` interface: what `describe` declares of pages in addition to the manifest.

use contract::LastItem;
use contract_rules::limit::OPERATIONS;

use super::bindings::gateway::connector::page_additions as wit;
use super::guest::Guest;

impl wit::Host for Guest {
    fn declare_last_item(&mut self, operation: String, more: Option<String>) -> wasmtime::Result<()> {
        let Some(additions) = self.additions.as_deref_mut() else {
            wasmtime::bail!(
                "it called `page-additions.declare-last-item` in `invoke`; `describe` calls it, before it returns the manifest"
            );
        };
        // The rules of the manifest refuse one more than it can have. More are not kept.
        if additions.pages.len() <= OPERATIONS {
            additions.pages.push(LastItem { operation, more });
        }
        Ok(())
    }
}
