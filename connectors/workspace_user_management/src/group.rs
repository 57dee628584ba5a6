//! The rule of a group's update that its fields cannot express.

use connector_sdk::Fault;

use crate::UpdateGroup;

/// Refuses an update without a change.
pub(crate) fn check_update(input: &UpdateGroup) -> Result<(), Fault> {
    if input.email.is_none() && input.name.is_none() && input.description.is_none() {
        return Err(Fault::invalid_input("", "Give at least one of `email`, `name` and `description`."));
    }
    Ok(())
}
