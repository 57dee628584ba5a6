//! The component of a manifest, without a compiler: its memory has the manifest and the
//! declarations as the canonical ABI lays them out, and `describe` returns a pointer to them.
//!
//! - here: the core module, and the component of it.
//! - `layout`: a value of the contract in memory.
//! - `declarations`: the declarations in addition to the manifest.

mod declarations;
mod layout;

use contract::{Additions, Manifest};
use serde_json::Value;
use thiserror::Error;
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    ImportSection, MemorySection, MemoryType, Module, TypeSection, ValType,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::AbiVariant;
use wit_parser::{FunctionKind, InterfaceId, Resolve, Type, WorldId, WorldItem};

use self::declarations::Declaration;
use self::layout::{BASE, Layout};

/// The contract.
const CONTRACT: &str = include_str!("../../../../wit/connector.wit");

const WORLD: &str = "connector";

/// Size of a page of memory.
const PAGE: usize = 64 << 10;

/// Why there is no component. This is a defect of the gateway, or the manifest is too large.
#[derive(Debug, Error)]
pub enum ComponentError {
    /// The contract has no such function or type, or a value is not of its type.
    #[error("the manifest does not fit the contract: {0}")]
    Contract(String),
    /// The module does not fit into the memory of a connector.
    #[error("the texts of the connector have more than 2 GiB")]
    TooLarge,
    /// The core module cannot be made a component.
    #[error("it cannot be made a component: {0}")]
    Encoding(String),
}

impl ComponentError {
    fn encoding(error: impl std::fmt::Display) -> Self {
        Self::Encoding(error.to_string())
    }
}

/// A call of `describe` before it returns: an imported function and its arguments.
struct Call {
    module: String,
    function: String,
    parameters: usize,
    arguments: Vec<i32>,
}

/// Makes the component of a connector.
///
/// # Errors
/// If the manifest does not fit into the memory of a module.
pub fn component(manifest: &Manifest, additions: &Additions) -> Result<Vec<u8>, ComponentError> {
    let mut contract = Resolve::default();
    let package = contract.push_source("connector.wit", CONTRACT).map_err(ComponentError::encoding)?;
    let world = contract.select_world(&[package], Some(WORLD)).map_err(ComponentError::encoding)?;
    let mut layout = Layout::new(&contract);
    let describe = export(&contract, world, "describe")?;
    let of_manifest = describe.result.ok_or_else(|| ComponentError::Contract("`describe` has no result".to_owned()))?;
    let manifest = serde_json::to_value(manifest).map_err(ComponentError::encoding)?;
    let pointer = layout.value(&of_manifest, &manifest)?;
    let declared = declarations::of(additions).into_iter();
    let calls: Vec<Call> = declared.map(|declared| call(&contract, &mut layout, declared)).collect::<Result<_, _>>()?;
    let mut module = core_module(pointer, &calls, &layout.into_bytes()?)?;
    embed_component_metadata(&mut module, &contract, world, StringEncoding::UTF8).map_err(ComponentError::encoding)?;
    let encoder = ComponentEncoder::default().validate(true).module(&module);
    encoder.and_then(|mut encoder| encoder.encode()).map_err(|error| ComponentError::Encoding(format!("{error:#}")))
}

fn export<'a>(contract: &'a Resolve, world: WorldId, name: &str) -> Result<&'a wit_parser::Function, ComponentError> {
    let found = contract.worlds[world].exports.values().find_map(|item| match item {
        WorldItem::Function(function) if function.name == name => Some(function),
        _ => None,
    });
    found.ok_or_else(|| ComponentError::Contract(format!("the world has no `{name}`")))
}

/// The call of a function of an interface, whose arguments are in memory or constants.
fn call(contract: &Resolve, layout: &mut Layout<'_>, declared: Declaration) -> Result<Call, ComponentError> {
    let Declaration { interface, function, arguments } = declared;
    let missing = || ComponentError::Contract(format!("there is no function `{interface}.{function}`"));
    let (id, _) =
        contract.interfaces.iter().find(|(_, known)| known.name.as_deref() == Some(interface)).ok_or_else(missing)?;
    let declared: &wit_parser::Function = contract.interfaces[id].functions.get(function).ok_or_else(missing)?;
    let is_plain = matches!(declared.kind, FunctionKind::Freestanding) && declared.result.is_none();
    if !is_plain || declared.params.len() != arguments.len() {
        return Err(ComponentError::Contract(format!("`{interface}.{function}` has other parameters")));
    }
    let signature = contract.wasm_signature(AbiVariant::GuestImport, declared);
    let types: Vec<Type> = declared.params.iter().map(|parameter| parameter.ty).collect();
    let arguments = if signature.indirect_params {
        vec![layout.values(&types, &arguments)?]
    } else {
        layout.flat(&types, &arguments)?
    };
    Ok(Call {
        module: module_name(contract, id)?,
        function: function.to_owned(),
        parameters: signature.params.len(),
        arguments,
    })
}

fn module_name(contract: &Resolve, interface: InterfaceId) -> Result<String, ComponentError> {
    contract.id_of(interface).ok_or_else(|| ComponentError::Contract("an interface has no name".to_owned()))
}

/// A module that makes these calls and returns this pointer. The gateway makes the requests of all
/// operations, so `invoke` is not called, and no memory is allocated for it.
fn core_module(manifest: i32, calls: &[Call], memory: &[u8]) -> Result<Vec<u8>, ComponentError> {
    let mut types = TypeSection::new();
    let mut imports = ImportSection::new();
    let mut imported: Vec<(&str, &str)> = Vec::new();
    for call in calls {
        let name = (call.module.as_str(), call.function.as_str());
        if !imported.contains(&name) {
            types.ty().function(std::iter::repeat_n(ValType::I32, call.parameters), []);
            imports.import(name.0, name.1, EntityType::Function(index(imported.len())?));
            imported.push(name);
        }
    }
    let first = index(imported.len())?;
    types.ty().function([], [ValType::I32]);
    types.ty().function([ValType::I32; 4], [ValType::I32]);

    let mut describe = Function::new([]);
    for call in calls {
        let name = (call.module.as_str(), call.function.as_str());
        let function = imported.iter().position(|known| *known == name).unwrap_or_default();
        for argument in &call.arguments {
            describe.instructions().i32_const(*argument);
        }
        describe.instructions().call(index(function)?);
    }
    describe.instructions().i32_const(manifest).end();
    let mut trap = Function::new([]);
    trap.instructions().unreachable().end();

    let (mut functions, mut exports, mut code) = (FunctionSection::new(), ExportSection::new(), CodeSection::new());
    // `invoke` and `cabi_realloc` have four parameters each.
    for (offset, (name, body)) in
        [("describe", &describe), ("invoke", &trap), ("cabi_realloc", &trap)].into_iter().enumerate()
    {
        functions.function(if offset == 0 { first } else { first + 1 });
        exports.export(name, ExportKind::Func, first + index(offset)?);
        code.function(body);
    }
    exports.export("memory", ExportKind::Memory, 0);
    let end = usize::try_from(BASE).unwrap_or_default() + memory.len();
    let pages = u64::try_from(end.div_ceil(PAGE)).map_err(ComponentError::encoding)?;
    let mut memories = MemorySection::new();
    memories.memory(MemoryType { minimum: pages, maximum: None, memory64: false, shared: false, page_size_log2: None });
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(BASE), memory.iter().copied());

    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&memories);
    module.section(&exports).section(&code).section(&data);
    Ok(module.finish())
}

fn index(position: usize) -> Result<u32, ComponentError> {
    u32::try_from(position).map_err(|_| ComponentError::TooLarge)
}

/// A value that the contract's type does not accept.
fn misfit(expected: &str, value: &Value) -> ComponentError {
    ComponentError::Contract(format!("expected {expected}, found {value}"))
}
