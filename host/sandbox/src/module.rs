//! One compiled module. It is checked and linked once, and instantiated for every invocation.

use std::sync::Arc;

use futures_util::FutureExt;
use thiserror::Error;
use wasmtime::component::{
    ComponentExportIndex, HasSelf, Instance, InstancePre, Linker, Resource, ResourceType, TypedFunc,
};
use wasmtime::{Engine, Store};

use super::bindings::gateway::connector;
use super::bindings::gateway::connector::json::HostDocument;
use super::bindings::gateway::connector::multipart::{Host as _, Part};
use super::bindings::gateway::connector::outcome::{Fault, Outcome};
use super::bindings::gateway::connector::row_additions::{Host as _, Row};
use super::bindings::{Connector, ConnectorIndices};
use super::document::Document;
use super::engine;
use super::guest::Guest;
use super::http::{Link, Response};
use super::log_rate::LogRate;
use super::native_code::NativeCode;
use super::running_guest::{Common, RunningGuest};
use super::shares::{Permits, Share, SharedPermits};
use super::ticker::Ticker;

/// The package of the contract, with which the names of interfaces begin.
const CONTRACT: &str = "gateway:connector/";
/// The version of the contract that this gateway offers. A test compares it with
/// `wit/connector.wit`.
pub const CONTRACT_VERSION: &str = "1.2.0";

/// How a module breaks the contract.
#[derive(Debug, Error)]
pub enum ContractError {
    /// It imports an interface that the contract does not offer.
    #[error("it imports `{0}`, which the contract gateway:connector@1 does not offer")]
    UnknownImport(String),
    /// It imports the HTTP of WASI.
    #[error(
        "it imports `{0}`, and a connector sends requests through `gateway:connector/http` only; build it without the toolchain's \
         own HTTP (componentize-js: `disableFeatures` with `http` and `fetch-event`)"
    )]
    WasiHttp(String),
    /// It was built against a contract of another major version.
    #[error("it was built for `{0}`; this gateway accepts gateway:connector@1.x")]
    Version(String),
    /// It was built against a later minor version, and uses something that is new in it.
    #[error(
        "it was built for gateway:connector@{version}, and this gateway has {CONTRACT_VERSION}, without something that it uses; update \
         the gateway, or build the connector for the older contract: {reason}"
    )]
    Newer {
        /// The version that it was built for.
        version: String,
        /// The difference.
        reason: String,
    },
    /// An export is missing.
    #[error("it does not export `{0}`; is it built for the world `connector`?")]
    MissingExport(&'static str),
    /// It needs more core instances than a slot of the pool has.
    #[error(
        "it needs {needed} core instances, and the pool has {limit} for a connector; raise \
         `sandbox.core_instances_per_component`"
    )]
    TooManyInstances {
        /// The number that it declares.
        needed: u32,
        /// The number in a slot.
        limit: u32,
    },
    /// It needs more memories or tables than any module of a toolchain does.
    #[error("it needs {needed} {what}, and a connector has at most {limit}")]
    TooLarge {
        /// `memories` or `tables`.
        what: &'static str,
        /// The number that it declares.
        needed: u32,
        /// The number in a slot.
        limit: u32,
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
    pub(super) code: NativeCode,
    /// Linked with all interfaces. Their functions may wait, so the guest runs on a fiber.
    pub(super) linked: InstancePre<Guest>,
    /// Linked for immediate operations, which do not call `http` and `storage`: their functions
    /// trap here. Such a guest never waits. It needs no fiber, which saves a stack and a stack
    /// switch. `None` for modules that import WASI.
    pub(super) linked_sync: Option<InstancePre<Guest>>,
    exports: ConnectorIndices,
    invoke: ComponentExportIndex,
    slots: Arc<Share>,
    /// The number of slots that one instance takes.
    slots_of_instance: u32,
    common: Arc<Common>,
}

/// The parts that all modules share.
pub(super) struct Resources {
    /// The slots of the pool.
    pub(super) slots: SharedPermits,
    /// Connections whose response a guest holds.
    pub(super) connections: SharedPermits,
}

/// The type of the export `invoke`, from the path of an operation and its input as JSON text.
type Invoke<'a> = TypedFunc<(&'a str, &'a str), (Result<Outcome, Fault>,)>;

/// The two linkers. Every module is linked with both.
pub(super) struct Linkers {
    full: Linker<Guest>,
    sync: Linker<Guest>,
}

impl Linkers {
    pub(super) fn new(engine: &Engine) -> wasmtime::Result<Self> {
        let mut sync = Linker::new(engine);
        add_sync(&mut sync)?;
        add_sync_json(&mut sync)?;
        add_sync_clock(&mut sync)?;
        add_sync_multipart(&mut sync)?;
        add_sync_rows(&mut sync)?;
        forbid(&mut sync, "http", &HTTP_FUNCTIONS)?;
        forbid(&mut sync, "storage", &["get", "set", "delete"])?;
        let mut full = Linker::new(engine);
        add_sync(&mut full)?;
        connector::json::add_to_linker::<_, HasSelf<_>>(&mut full, |guest: &mut Guest| guest)?;
        connector::http::add_to_linker::<_, HasSelf<_>>(&mut full, |guest: &mut Guest| guest)?;
        connector::storage::add_to_linker::<_, HasSelf<_>>(&mut full, |guest: &mut Guest| guest)?;
        connector::clock::add_to_linker::<_, HasSelf<_>>(&mut full, |guest: &mut Guest| guest)?;
        connector::multipart::add_to_linker::<_, HasSelf<_>>(&mut full, |guest: &mut Guest| guest)?;
        connector::row_additions::add_to_linker::<_, HasSelf<_>>(&mut full, |guest: &mut Guest| guest)?;
        wasmtime_wasi::p2::add_to_linker_async(&mut full)?;
        Ok(Self { full, sync })
    }
}

/// Adds the interfaces whose functions are synchronous.
fn add_sync(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    connector::config::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::log::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::random::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::progress::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| &mut guest.call.progress)?;
    connector::auth_additions::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::upstream_additions::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::page_additions::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::trigger_additions::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    connector::signed_links::add_to_linker::<_, HasSelf<_>>(linker, |guest: &mut Guest| guest)?;
    Ok(())
}

/// A host function would have to wait, but the guest has no fiber.
#[derive(Debug, Error)]
#[error("the gateway's function must wait, and the guest does not run on a fiber")]
pub(super) struct NeedsFiber;

/// The result of a function for a guest without a fiber. A function that must wait for its
/// computation ends the guest with [`NeedsFiber`].
fn without_waiting<T>(result: impl Future<Output = wasmtime::Result<T>>) -> wasmtime::Result<(T,)> {
    Ok((result.now_or_never().ok_or(NeedsFiber)??,))
}

/// Adds `json` for a guest without a fiber.
fn add_sync_json(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    type This = (Resource<Document>,);
    let mut json = linker.instance(&format!("{CONTRACT}json@{CONTRACT_VERSION}"))?;
    json.resource("document", ResourceType::host::<Document>(), |mut store, document| {
        HostDocument::drop(store.data_mut(), Resource::new_own(document))
    })?;
    json.func_wrap("[static]document.parse", |mut store, (text,): (String,)| {
        without_waiting(store.data_mut().parse(text))
    })?;
    json.func_wrap("[method]document.pointer", |mut store, (this, pointer): (Resource<Document>, String)| {
        without_waiting(store.data_mut().pointer(this, pointer))
    })?;
    json.func_wrap("[method]document.kind", |mut store, (this,): This| Ok((store.data_mut().kind(this)?,)))?;
    json.func_wrap("[method]document.length", |mut store, (this,): This| {
        without_waiting(store.data_mut().length(this))
    })?;
    json.func_wrap("[method]document.keys", |mut store, (this,): This| without_waiting(store.data_mut().keys(this)))?;
    json.func_wrap("[method]document.item", |mut store, (this, index): (Resource<Document>, u32)| {
        without_waiting(store.data_mut().item(this, index))
    })?;
    json.func_wrap("[method]document.text", |mut store, (this,): This| without_waiting(store.data_mut().text(this)))?;
    json.func_wrap("[method]document.as-string", |mut store, (this,): This| {
        without_waiting(store.data_mut().as_string(this))
    })?;
    Ok(())
}

/// Adds `clock` for a guest without a fiber. Such a guest cannot sleep, and [`NeedsFiber`] ends it.
fn add_sync_clock(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut clock = linker.instance(&format!("{CONTRACT}clock@{CONTRACT_VERSION}"))?;
    clock.func_wrap("now", |_, ()| Ok((super::clock::now()?,)))?;
    clock.func_wrap("sleep", |_, (_,): (u64,)| -> wasmtime::Result<()> { Err(NeedsFiber.into()) })
}

/// Adds `multipart` for a guest without a fiber.
fn add_sync_multipart(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut multipart = linker.instance(&format!("{CONTRACT}multipart@{CONTRACT_VERSION}"))?;
    multipart.func_wrap("build", |mut store, (parts,): (Vec<Part>,)| without_waiting(store.data_mut().build(parts)))
}

/// Adds `row-additions` for a guest without a fiber.
fn add_sync_rows(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    type Declared = (String, Row);
    let mut rows = linker.instance(&format!("{CONTRACT}row-additions@{CONTRACT_VERSION}"))?;
    rows.func_wrap("declare-row", |mut store, (operation, row): Declared| {
        store.data_mut().declare_row(operation, row)
    })?;
    rows.func_wrap("declare-request", |mut store, (operation, row): Declared| {
        store.data_mut().declare_request(operation, row)
    })?;
    rows.func_wrap("make-request", |mut store, ()| without_waiting(store.data_mut().make_request()))
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
    let mut instance = linker.instance(&format!("{CONTRACT}{interface}@{CONTRACT_VERSION}"))?;
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

/// An import that the gateway offers.
#[derive(PartialEq)]
pub(super) enum Import {
    Contract,
    Wasi,
}

/// Checks that the gateway offers an import.
pub(super) fn check_import(name: &str) -> Result<Import, ContractError> {
    if name.starts_with("wasi:http/") {
        return Err(ContractError::WasiHttp(name.to_owned()));
    }
    if name.starts_with("wasi:") {
        return Ok(Import::Wasi);
    }
    if !name.starts_with(CONTRACT) {
        return Err(ContractError::UnknownImport(name.to_owned()));
    }
    let is_offered = version_of(name).is_some_and(|version| version.starts_with("1."));
    if is_offered { Ok(Import::Contract) } else { Err(ContractError::Version(name.to_owned())) }
}

/// The version of the contract in the name of an import.
fn version_of(import: &str) -> Option<&str> {
    import.strip_prefix(CONTRACT)?.split_once('@').map(|(_, version)| version)
}

/// Returns `true` if a version of the contract is later than [`CONTRACT_VERSION`].
fn is_later(version: &str) -> bool {
    // A part that is no number belongs to a version that was never published.
    let numbers = |version: &str| version.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect::<Vec<_>>();
    numbers(version) > numbers(CONTRACT_VERSION)
}

impl Module {
    pub(super) fn link(
        code: NativeCode,
        linkers: &Linkers,
        ticker: Arc<Ticker>,
        resources: &Resources,
    ) -> Result<Self, ContractError> {
        let component = &code.component;
        let engine = component.engine();
        let mut imports_wasi = false;
        let mut later_version = None;
        let component_type = component.component_type();
        for (name, _) in component_type.imports(engine) {
            imports_wasi |= check_import(name)? == Import::Wasi;
            later_version = later_version.or_else(|| version_of(name).filter(|version| is_later(version)));
        }
        // The number is unknown only for components that import core modules, which the contract
        // does not offer.
        let required = component.resources_required();
        let (memories, tables) = required.map_or((engine::MAX_MEMORIES, engine::MAX_TABLES), |required| {
            (required.num_memories, required.num_tables)
        });
        for (what, needed, limit) in
            [("memories", memories, engine::MAX_MEMORIES), ("tables", tables, engine::MAX_TABLES)]
        {
            if needed > limit {
                return Err(ContractError::TooLarge { what, needed, limit });
            }
        }
        let export =
            |name: &'static str| component.get_export_index(None, name).ok_or(ContractError::MissingExport(name));
        export("describe")?;
        let invoke = export("invoke")?;
        let mismatch = |error: wasmtime::Error| {
            let reason = format!("{error:#}");
            match later_version {
                Some(version) => ContractError::Newer { version: version.to_owned(), reason },
                None => ContractError::Mismatch(reason),
            }
        };
        let linked = linkers.full.instantiate_pre(component).map_err(mismatch)?;
        let exports = ConnectorIndices::new(&linked).map_err(mismatch)?;
        let linked_sync = if imports_wasi {
            None
        } else {
            let linked = linkers.sync.instantiate_pre(component).map_err(mismatch)?;
            ConnectorIndices::new(&linked).map_err(mismatch)?;
            Some(linked)
        };
        Ok(Self {
            code,
            linked,
            linked_sync,
            exports,
            invoke,
            slots: resources.slots.join(),
            slots_of_instance: engine::slots(memories, tables),
            common: Arc::new(Common {
                log_rate: LogRate::default(),
                connections: resources.connections.join(),
                ticker,
            }),
        })
    }

    /// Takes the slots for one instance.
    pub(super) fn take_slots(&self) -> Option<Permits> {
        self.slots.take(self.slots_of_instance)
    }

    /// Starts a guest: starts the clock, and returns the guest's reference to the module.
    pub(super) fn start_guest(&self) -> RunningGuest {
        RunningGuest::start(&self.common)
    }

    /// The exports of an instance.
    pub(super) fn exports_of(&self, instance: &Instance, store: &mut Store<Guest>) -> wasmtime::Result<Connector> {
        self.exports.load(store, instance)
    }

    /// The export `invoke` of an instance.
    #[expect(unsafe_code, reason = "otherwise wasmtime compares all types of the contract at each call")]
    pub(super) fn invoke_export<'a>(
        &self,
        instance: &Instance,
        store: &mut Store<Guest>,
    ) -> wasmtime::Result<Invoke<'a>> {
        let function = instance
            .get_func(store, self.invoke)
            .ok_or_else(|| wasmtime::format_err!("`invoke` is of another module"))?;
        // SAFETY: in `link`, `ConnectorIndices::new` has compared the type of this export with the
        // type in the contract, which is the type given here. Every instance of this module is made
        // from the component that was linked there.
        Ok(unsafe { TypedFunc::new_unchecked(function) })
    }
}
