//! The contract with connectors: the types and rules of a manifest, for all parts of the gateway.
//!
//! - this file: the types of `wit/connector.wit`
//! - `answer_schemas`: the schemas of answers, which are next to the manifest
//! - `auth_additions`: what a connector says of its authorization beyond the auth scheme
//! - `check`: checks a manifest against all rules. The crate `contract-rules` has the rules, and
//!   SDKs use it too
//! - `additions`: what `describe` declares in addition to the manifest, by functions that later
//!   minor versions of the contract have added
//! - `upstream_additions`: the part of it that is about upstreams
//! - `trigger_additions`: the rules of the part of it that is about events
//! - [`identity`]: the identity of an account in an answer, and pointers that find nothing there
//! - [`site`]: registrable domains, by the Public Suffix List
//! - `names`: the names of parts of a manifest in answers
//! - `sample`: parts of manifests for tests
//! - `owner`: the party that can fix a problem
//! - [`words`]: sentences and names in messages to people

mod additions;
mod answer_schemas;
mod auth_additions;
mod check;
pub mod identity;
mod names;
mod owner;
#[doc(hidden)]
pub mod sample;
pub mod site;
mod trigger_additions;
mod upstream_additions;
pub mod words;

/// Types generated from the contract.
mod bindings {
    #![expect(missing_docs, reason = "generated; the contract itself carries the documentation")]

    wasmtime::component::bindgen!({
        inline: "
            package gateway:host;
            world types {
                import gateway:connector/manifest@1.2.0;
                import gateway:connector/trigger-types@1.2.0;
            }
        ",
        path: "../../wit",
        world: "gateway:host/types",
        // A manifest that no component has described yet is written into one.
        additional_derives: [serde::Serialize, PartialEq, Eq],
    });
}

pub use additions::{Additions, DeclaredRow, LastItem, Purpose};
pub use answer_schemas::{AnswerSchemaError, AnswerSchemas, MAX_ANSWER_SCHEMAS_BYTES, misfit};
pub use auth_additions::{
    AppInstallation, AuthAdditions, AwsSignature, DeviceCode, HmacSignature, ServiceAccount, Signature,
};
pub use bindings::gateway::connector::manifest::*;
pub use bindings::gateway::connector::trigger_types::{self, Inbox, Trigger};
pub use check::check;
pub use owner::Owner;
pub use upstream_additions::{Address, AddressPart, PartForm, PartSource, UpstreamAdditions, fill_url, has_parts};
