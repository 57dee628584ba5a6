//! The manifest of a connector, as `wit/connector.wit` declares it.

/// Types generated from the contract.
mod bindings {
    #![expect(missing_docs, reason = "generated; the contract itself carries the documentation")]

    wasmtime::component::bindgen!({
        inline: "
            package gateway:host;
            world types {
                import gateway:connector/manifest@1.0.0;
            }
        ",
        path: "../../wit",
        world: "gateway:host/types",
    });
}

pub use bindings::gateway::connector::manifest::*;
