//! The contract (`wit/connector.wit`) as Rust: types on both sides, and the imported functions in a component.

#![allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated: the contract documents its items, memory is handed over at the boundary, and lints differ by the target"
)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "connector",
    pub_export_macro: true,
    default_bindings_module: "connector_sdk::bindings",
    runtime_path: "wit_bindgen::rt",
    generate_all,
});
