//! One compiled module. It is checked and linked once, and instantiated for every invocation.

use std::sync::Arc;

use thiserror::Error;
use wasmtime::component::{
    Component, ComponentExportIndex, HasSelf, Instance, InstancePre, Linker, ResourceType, TypedFunc,
};
use wasmtime::{Engine, Store};

use super::bindings::gateway::connector;
use super::bindings::gateway::connector::outcome::{Fault, Outcome};
use super::bindings::{Connector, ConnectorIndices};
use super::http::{Link, Response};
use super::invocation::Guest;
use super::ticker::Ticker;

/// How a module breaks the contract.
#[derive(Debug, Error)]
pub enum ContractError {
    /// It imports an interface that the contract does not offer.
    #[error("it imports `{0}`, which the contract gateway:connector@1 does not offer")]
    UnknownImport(String),
    /// It was built against a contract of another major version.
    #[error("it was built for `{0}`; this gateway accepts gateway:connector@1.x")]
    Version(String),
    /// An export is missing.
    #[error("it does not export `{0}`; is it built for the world `connector`?")]
    MissingExport(&'static str),
    /// It needs more memories or tables than a slot of the pool has.
    #[error("it needs {needed} {what}, and the pool has {limit} for a connector; raise `{key}`")]
    TooLarge {
        /// `memories` or `tables`.
        what: &'static str,
        /// The number that it declares.
        needed: u32,
        /// The number in a slot.
        limit: u32,
        /// The configuration key.
        key: &'static str,
    },
    /// Its functions or types differ from the contract.
    #[error("it does not match the contract gateway:connector@1: {0}")]
    Mismatch(String),
    /// Its compiled form does not fit this engine.
    #[error("its compiled form cannot be loaded: {0}")]
    Artifact(String),
}

/// A module, linked with the interfaces that it imports.
pub struct Module {
    /// Linked with all interfaces. Their functions may wait, so the guest runs on a fiber.
    pub(super) linked: InstancePre<Guest>,
    /// Linked for operations that do not call `http` and `storage`, whose functions trap here. Such a guest never waits, so it
    /// needs no fiber, which saves a stack and a stack switch. `None` for modules that import WASI.
    pub(super) immediate: Option<InstancePre<Guest>>,
    exports: ConnectorIndices,
    invoke: ComponentExportIndex,
    pub(super) ticker: Arc<Ticker>,
}

/// The type of the export `invoke`, from the path of an operation and its input as JSON text.
type Invoke<'a> = TypedFunc<(&'a str, &'a str), (Result<Outcome, Fault>,)>;

/// The two linkers. Every module is linked with both.
pub(super) struct Linkers {
    full: Linker<Guest>,
    immediate: Linker<Guest>,
}

impl Linkers {
    pub(super) fn new(engine: &Engine) -> wasmtime::Result<Self> {
        let mut immediate = Linker::new(engine);
        add_immediate(&mut immediate)?;
        forbid(&mut immediate, "http", &HTTP_FUNCTIONS)?;
        forbid(&mut immediate, "storage", &["get", "set", "delete"])?;
        let mut full = Linker::new(engine);
        add_immediate(&mut full)?;
        connector::http::add_to_linker::<_, HasSelf<_>>(&mut full, |guest: &mut Guest| guest)?;
        connector::storage::add_to_linker::<_, HasSelf<_>>(&mut full, |guest: &mut Guest| guest)?;
        wasmtime_wasi::p2::add_to_linker_async(&mut full)?;
        Ok(Self { full, immediate })
    }
}

/// Adds the interfaces whose functions never wait.
fn add_immediate(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    connector::json::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::config::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::log::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::clock::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::progress::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    Ok(())
}

/// The functions of `http`, by their names in a component.
const HTTP_FUNCTIONS: [&str; 10] = [
    "send",
    "send-all",
    "[method]response.status",
    "[method]response.header",
    "[method]response.header-link",
    "[method]response.body-link",
    "[method]response.peek",
    "[method]response.bytes",
    "[method]response.text",
    "[method]response.document",
];

/// Defines an interface whose functions trap, with a message for the author.
fn forbid(linker: &mut Linker<Guest>, interface: &str, functions: &[&str]) -> wasmtime::Result<()> {
    let mut instance = linker.instance(&format!("gateway:connector/{interface}@1.0.0"))?;
    if interface == "http" {
        // No guest can have one of these here, so there is nothing to drop.
        instance.resource("response", ResourceType::host::<Response>(), |_, _| Ok(()))?;
        instance.resource("link", ResourceType::host::<Link>(), |_, _| Ok(()))?;
    }
    for function in functions {
        let name = format!("{interface}.{function}");
        instance.func_new(function, move |_, _, _, _| {
            wasmtime::bail!("it called `{name}`, though its manifest says that the operation is immediate")
        })?;
    }
    Ok(())
}

/// The kinds of imports.
enum Import {
    Offered,
    Wasi,
    OtherVersion,
    Unknown,
}

fn classify(name: &str) -> Import {
    if name.starts_with("wasi:") {
        return Import::Wasi;
    }
    match name.strip_prefix("gateway:connector/") {
        None => Import::Unknown,
        Some(rest) => match rest.split_once('@') {
            Some((_, version)) if version.starts_with("1.") => Import::Offered,
            _ => Import::OtherVersion,
        },
    }
}

impl Module {
    pub(super) fn link(
        component: &Component,
        linkers: &Linkers,
        limits: &super::Pool,
        ticker: Arc<Ticker>,
    ) -> Result<Self, ContractError> {
        let engine = component.engine();
        let mut imports_wasi = false;
        for (name, _) in component.component_type().imports(engine) {
            match classify(name) {
                Import::Offered => {}
                Import::Wasi => imports_wasi = true,
                Import::OtherVersion => return Err(ContractError::Version(name.to_owned())),
                Import::Unknown => return Err(ContractError::UnknownImport(name.to_owned())),
            }
        }
        if let Some(required) = component.resources_required() {
            let memories =
                ("memories", required.num_memories, limits.memories_per_component, "sandbox.memories_per_component");
            let tables = ("tables", required.num_tables, limits.tables_per_component, "sandbox.tables_per_component");
            for (what, needed, limit, key) in [memories, tables] {
                if needed > limit {
                    return Err(ContractError::TooLarge { what, needed, limit, key });
                }
            }
        }
        let export =
            |name: &'static str| component.get_export_index(None, name).ok_or(ContractError::MissingExport(name));
        export("describe")?;
        let invoke = export("invoke")?;
        let mismatch = |error: wasmtime::Error| ContractError::Mismatch(format!("{error:#}"));
        let linked = linkers.full.instantiate_pre(component).map_err(mismatch)?;
        let exports = ConnectorIndices::new(&linked).map_err(mismatch)?;
        let immediate = if imports_wasi {
            None
        } else {
            let immediate = linkers.immediate.instantiate_pre(component).map_err(mismatch)?;
            ConnectorIndices::new(&immediate).map_err(mismatch)?;
            Some(immediate)
        };
        Ok(Self { linked, immediate, exports, invoke, ticker })
    }

    /// The exports of an instance.
    pub(super) fn exports_of(&self, instance: &Instance, store: &mut Store<Guest>) -> wasmtime::Result<Connector> {
        self.exports.load(store, instance)
    }

    /// The export `invoke` of an instance.
    #[expect(unsafe_code, reason = "otherwise wasmtime compares all types of the contract at each call")]
    pub(super) fn invoke_of<'a>(&self, instance: &Instance, store: &mut Store<Guest>) -> wasmtime::Result<Invoke<'a>> {
        let function = instance
            .get_func(store, self.invoke)
            .ok_or_else(|| wasmtime::format_err!("`invoke` is of another module"))?;
        // SAFETY: in `link`, `ConnectorIndices::new` has compared the type of this export with the type in the contract, which is
        // the type given here. Every instance of this module is made from what was linked there.
        Ok(unsafe { TypedFunc::new_unchecked(function) })
    }
}
