//! The operations that types of events name.

use std::collections::HashMap;

use super::super::check::Violations;
use super::super::{Manifest, shorten};
use super::identity;
use crate::trigger::{Role, Trigger};
use crate::{Broken, ensure};

/// Several types of events may name one operation, with one role.
pub(super) fn check(manifest: &Manifest<'_>, rows: &[&str], triggers: &[Trigger], found: &mut Violations) {
    let mut roles: HashMap<&str, Role> = HashMap::new();
    for trigger in triggers {
        for (role, name) in trigger.operations() {
            let part = || format!("trigger `{}`, {} `{}`", shorten(&trigger.name), role.name(), shorten(name));
            match roles.get(name) {
                None => {
                    roles.insert(name, role);
                    found.add(part(), check_operation(manifest, rows, name));
                }
                Some(known) if *known == role => {}
                Some(known) => {
                    found.add(part(), Err(format!("a trigger names this operation as `{}` too", known.name()).into()));
                }
            }
        }
    }
}

fn check_operation(manifest: &Manifest<'_>, rows: &[&str], name: &str) -> Result<(), Broken> {
    let Some(operation) = manifest.operations.iter().find(|operation| operation.path == name) else {
        return Err("the manifest has no operation of this name".into());
    };
    ensure(!operation.envelope, "an operation of a trigger has no envelope")?;
    ensure(!operation.background, "an operation of a trigger does not run in the background")?;
    ensure(operation.pagination.is_none(), "an operation of a trigger has no pages")?;
    ensure(operation.answers_json, "an operation of a trigger answers JSON")?;
    ensure(!rows.contains(&name), "an operation of a trigger is code, and no row")?;
    ensure(identity(manifest) != Some(name), "the auth scheme names this operation to identify accounts")
}
