//! The contract (`wit/connector.wit`) as Rust: its types, and in a component also the imported
//! functions.

#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated code: the contract documents the items, values cross the boundary as raw memory, and lints differ by target"
)]

wit_bindgen::generate!({
    path: "wit",
    world: "connector",
    pub_export_macro: true,
    default_bindings_module: "connector_sdk::bindings",
    runtime_path: "wit_bindgen::rt",
    generate_all,
});
