//! The `page-additions` interface: what `describe` declares of pages in addition to the manifest.

use contract::LastItem;
use contract_rules::limit::OPERATIONS;

use super::bindings::gateway::connector::page_additions as wit;
use super::guest::Guest;

impl wit::Host for Guest {
    fn declare_last_item(&mut self, operation: String, more: Option<String>) -> wasmtime::Result<()> {
        let declared = LastItem { operation, more };
        let pages = &mut self.declarations("page-additions.declare-last-item", &declared)?.pages;
        // The rules of the manifest refuse one more than it can have. More are not kept.
        if pages.len() <= OPERATIONS {
            pages.push(declared);
        }
        Ok(())
    }
}
