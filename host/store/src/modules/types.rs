//! The records of modules.

use std::sync::Arc;
use std::time::SystemTime;

use crate::changes::NewChange;
use crate::grants::GrantSwap;
use crate::records::record;

/// A change of the module of a connector.
#[derive(Clone, Debug)]
pub struct ModuleChange {
    /// The connector's identifier.
    pub connector: String,
    /// The module that the service serves after the change. `None` if it serves no foreign one.
    pub module: Option<NewModule>,
    /// Decides whether the change is made.
    pub condition: ModuleCondition,
    /// The entry in the history.
    pub entry: NewChange,
    /// `true` if the entry is left out where the history already ends with its state.
    pub is_noticed: bool,
    /// The change of the grants.
    pub grants: GrantStep,
}

/// A module that a connector gets.
#[derive(Clone, Debug)]
pub struct NewModule {
    /// SHA-256 of the module in hexadecimal digits.
    pub digest: String,
    /// The version in its manifest.
    pub version: String,
    /// The module. Kept only in a database that gateways share.
    pub bytes: Arc<[u8]>,
    /// The text of its signature.
    pub signature: Option<String>,
    /// `true` if it may replace the shipped connector of its identifier.
    pub replaces_shipped: bool,
}

/// When a change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleCondition {
    /// In any case.
    Always,
    /// If this is the present generation. It is 0 if the connector never changed.
    Generation(i64),
    /// If the connector never had this module.
    NewModule,
    /// If this module is not the present one.
    OtherModule,
}

/// The change of the grants that belongs to a change of a module.
#[derive(Clone, Debug)]
pub enum GrantStep {
    /// The grants stay.
    Unchanged,
    /// The grants of the new version.
    Swap(GrantSwap),
    /// The grants of all versions are deleted.
    Forget,
}

/// The end of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleOutcome {
    /// The change is made, and this is the generation.
    Changed(i64),
    /// The condition did not hold, and nothing has changed. This is the present generation.
    Unchanged(i64),
}

record! {
    /// The present state of a connector in the service.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LiveModule {
        /// The connector's identifier.
        pub connector: String,
        /// Grows with each change.
        pub generation: i64,
        /// SHA-256 of the module. `None` if the connector was removed.
        pub digest: Option<String>,
        /// The version in its manifest.
        pub version: Option<String>,
        /// The text of the module's signature.
        pub signature: Option<String>,
        /// See [`NewModule::replaces_shipped`].
        pub replaces_shipped: bool,
        /// The time of the last change.
        pub changed_at: SystemTime,
        /// The actor of the last change.
        pub changed_by: String,
    }
}

record! {
    /// A module of a connector whose bytes are stored.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StoredModule {
        /// SHA-256 of the module in hexadecimal digits.
        pub digest: String,
        /// The text of its signature.
        pub signature: Option<String>,
        /// The last time it became live.
        pub live_at: SystemTime,
    }
}
