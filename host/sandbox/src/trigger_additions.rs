//! The `trigger-additions` interface: what `describe` declares of events.

use contract_rules::limit::{INBOXES, TRIGGERS};

use super::bindings::gateway::connector::trigger_additions as wit;
use super::guest::Guest;

impl wit::Host for Guest {
    fn declare_inbox(&mut self, inbox: contract::Inbox) -> wasmtime::Result<()> {
        let Some(additions) = self.additions.as_deref_mut() else { return in_invoke("declare-inbox") };
        // The rules of the manifest refuse one more than it can have. More are not kept.
        if additions.inboxes.len() <= INBOXES {
            additions.inboxes.push(inbox);
        }
        Ok(())
    }

    fn declare_trigger(&mut self, trigger: contract::Trigger) -> wasmtime::Result<()> {
        let Some(additions) = self.additions.as_deref_mut() else { return in_invoke("declare-trigger") };
        if additions.triggers.len() <= TRIGGERS {
            additions.triggers.push(trigger);
        }
        Ok(())
    }
}

fn in_invoke(function: &str) -> wasmtime::Result<()> {
    wasmtime::bail!(
        "it called `trigger-additions.{function}` in `invoke`; `describe` calls it, before it returns the manifest"
    )
}
