//! The new parent or name of an item. A request with neither would do nothing.

use connector_sdk::Fault;
use connector_sdk::input::Json;

use crate::{CopyItem, UpdateItem};

pub(crate) fn of_copy(input: &CopyItem) -> Result<(), Fault> {
    is_given(input.name.as_ref(), input.parent_reference.as_ref())
}

pub(crate) fn of_update(input: &UpdateItem) -> Result<(), Fault> {
    is_given(input.name.as_ref(), input.parent_reference.as_ref())
}

fn is_given(name: Option<&String>, parent: Option<&Json>) -> Result<(), Fault> {
    match (name, parent) {
        (None, None) => Err(Fault::invalid_input("", "Give `name`, `parent_reference` or both.")),
        _ => Ok(()),
    }
}
