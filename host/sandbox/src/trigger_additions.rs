//! The `trigger-additions` interface: what `describe` declares of events.

use contract_rules::limit::{INBOXES, TRIGGERS};

use super::bindings::gateway::connector::trigger_additions as wit;
use super::guest::Guest;

impl wit::Host for Guest {
    fn declare_inbox(&mut self, inbox: contract::Inbox) -> wasmtime::Result<()> {
        let inboxes = &mut self.declarations("trigger-additions.declare-inbox", &inbox)?.inboxes;
        // The rules of the manifest refuse one more than it can have. More are not kept.
        if inboxes.len() <= INBOXES {
            inboxes.push(inbox);
        }
        Ok(())
    }

    fn declare_trigger(&mut self, trigger: contract::Trigger) -> wasmtime::Result<()> {
        let triggers = &mut self.declarations("trigger-additions.declare-trigger", &trigger)?.triggers;
        if triggers.len() <= TRIGGERS {
            triggers.push(trigger);
        }
        Ok(())
    }
}
