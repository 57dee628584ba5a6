//! The operations that types of events name.

use std::collections::HashMap;

use super::super::shorten;
use super::super::violations::Violations;
use super::About;
use crate::trigger::{Role, Trigger};
use crate::{Broken, ensure};

/// Several types of events may name one operation, with one role.
pub(super) fn check(about: &About<'_>, triggers: &[Trigger], found: &mut Violations) {
    let mut roles: HashMap<&str, Role> = HashMap::new();
    for trigger in triggers {
        for (role, name) in trigger.operations() {
            let part = || format!("trigger `{}`, {} `{}`", shorten(&trigger.name), role.name(), shorten(name));
            match roles.get(name) {
                None => {
                    roles.insert(name, role);
                    found.add(part(), check_operation(about, name));
                }
                Some(known) if *known == role => {}
                Some(known) => {
                    found.add(part(), Err(format!("a trigger names this operation as `{}` too", known.name()).into()));
                }
            }
        }
    }
}

fn check_operation(about: &About<'_>, name: &str) -> Result<(), Broken> {
    let Some(operation) = about.operations.iter().find(|operation| operation.path == name) else {
        return Err("the manifest has no operation of this name".into());
    };
    ensure(!operation.envelope, "an operation of a trigger has no envelope")?;
    ensure(!operation.background, "an operation of a trigger does not run in the background")?;
    ensure(!operation.paged, "an operation of a trigger has no pages")?;
    ensure(operation.answers_json, "an operation of a trigger answers JSON")?;
    ensure(!operation.is_row, "an operation of a trigger is code, and no row")?;
    ensure(about.identity != Some(name), "the auth scheme names this operation to identify accounts")
}
