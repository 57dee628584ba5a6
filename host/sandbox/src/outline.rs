//! The imports and the size of a component, read from its sections before it is compiled.
//!
//! A component of a scripting language takes many seconds to compile. Its author should not wait
//! that long for a refusal. [`super::module`] checks the compiled component again, with the type
//! information of wasmtime.

use wasmparser::{ComponentTypeRef, Encoding, Instance, Parser, Payload};

use super::Pool;
use super::module::{ContractError, check_import};

/// Checks the imports of a component and the number of its core instances.
///
/// # Errors
/// As when the compiled component is linked. A component that cannot be parsed passes, because the
/// compiler gives the better error message.
pub(super) fn check_outline(component: &[u8], limits: &Pool) -> Result<(), ContractError> {
    let mut depth = 0_u32;
    let mut core_instances = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return Ok(()) };
        match payload {
            Payload::Version { encoding: Encoding::Module | Encoding::Component, .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(imports) if depth == 1 => {
                // The types that a world uses are imports as well. They need no implementation.
                let interfaces =
                    imports.into_iter().flatten().filter(|one| matches!(one.ty, ComponentTypeRef::Instance(_)));
                for import in interfaces {
                    check_import(import.name.name)?;
                }
            }
            Payload::InstanceSection(instances) if depth == 1 => {
                let made = instances.into_iter().flatten().filter(|one| matches!(one, Instance::Instantiate { .. }));
                core_instances = core_instances.saturating_add(u32::try_from(made.count()).unwrap_or(u32::MAX));
            }
            _ => {}
        }
    }
    let limit = limits.core_instances_per_component;
    if core_instances > limit { Err(ContractError::TooManyInstances { needed: core_instances, limit }) } else { Ok(()) }
}
