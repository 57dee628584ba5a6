//! Tool sets: the operations that agents get at one address, and how. A tenant names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use auth::Limits;

/// The way in which the operations of a set become tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ToolSetMode")]
pub enum SetMode {
    /// `direct` up to the number of operations that the operator sets, else `search`.
    #[default]
    Auto,
    /// Each operation is a tool.
    Direct,
    /// Tools search for operations and call them.
    Search,
}

/// The definition of a tool set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ToolSet {
    /// Connectors, and operations as `connector/operation`.
    pub allow: Vec<String>,
    /// Names of effects. `None` for all.
    pub effects: Option<Vec<String>>,
    /// The way in which operations become tools.
    pub mode: SetMode,
    /// Operations that are tools in every mode.
    pub pinned: Vec<String>,
    /// `true` if results have a structured form.
    pub structured: bool,
    /// `true` if destructive operations ask first.
    pub confirm: bool,
    /// The account that every call uses.
    pub account: Option<String>,
}

impl ToolSet {
    /// The operations of the set.
    pub fn limits(&self) -> Limits {
        Limits::new(self.allow.clone(), self.effects.clone())
    }
}
