//! Bodies and answers about tool sets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operator::{AllowList, EffectList, EffectName, Name};
use clock::timestamp::Timestamp;
use mcp::{SetMode, ToolSet};
use store::StoredToolSet;

/// A tool set to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToolSetBody {
    /// The last part of the address: `/mcp/sets/{name}`.
    #[schemars(regex(pattern = "^[a-z0-9_-]{1,64}$"), extend("not" = {"enum": ["sets", "readonly"]}))]
    pub name: String,
    /// The connectors and operations (`connector/operation`) of the set.
    #[schemars(with = "AllowList")]
    pub allow: Vec<String>,
    /// The effects of operations of the set. Without it, all.
    #[schemars(with = "Option<EffectList>")]
    pub effects: Option<Vec<EffectName>>,
    /// `direct`: each operation is a tool. `search`: tools search for operations and call them.
    /// `auto`, which is the default: `direct` up to `mcp.direct_tools` operations.
    pub mode: Option<SetMode>,
    /// Operations of the set that are tools in every mode.
    #[schemars(with = "Option<PinnedList>")]
    pub pinned: Option<Vec<String>>,
    /// `true`: the tools of operations that answer JSON have an `outputSchema`, and their results
    /// have `structuredContent`. The default is `false`.
    pub structured: Option<bool>,
    /// `true`: each call of a destructive operation must be confirmed. The default is `false`.
    pub confirm: Option<bool>,
    /// The account that every call uses. Without it, calls choose it.
    #[schemars(with = "Option<Name>", extend("not" = {"enum": [".", ".."]}))]
    pub account: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline, extend("maxItems" = 100, "uniqueItems" = true))]
#[expect(dead_code, reason = "only its schema is used")]
struct PinnedList(Vec<Pinned>);

#[derive(JsonSchema)]
#[schemars(inline, extend("pattern" = "^[a-z0-9_-]{1,64}/[A-Za-z0-9_-]{1,128}$"))]
#[expect(dead_code, reason = "only its schema is used")]
struct Pinned(String);

impl NewToolSetBody {
    /// The name, and the definition with its defaults.
    pub fn into_parts(self) -> (String, ToolSet) {
        let set = ToolSet {
            allow: self.allow,
            effects: self.effects.map(|effects| effects.into_iter().map(|effect| effect.0).collect()),
            mode: self.mode.unwrap_or_default(),
            pinned: self.pinned.unwrap_or_default(),
            structured: self.structured.unwrap_or_default(),
            confirm: self.confirm.unwrap_or_default(),
            account: self.account,
        };
        (self.name, set)
    }
}

/// A tool set.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolSet")]
pub struct ToolSetRecord {
    pub name: String,
    /// The address for agents.
    pub url: String,
    pub allow: Vec<String>,
    /// Null for all.
    pub effects: Option<Vec<EffectName>>,
    pub mode: SetMode,
    pub pinned: Vec<String>,
    pub structured: bool,
    pub confirm: bool,
    /// Null if calls choose the account.
    pub account: Option<String>,
    pub created_at: Timestamp,
    /// Who made it, as GET /admin/audit names actors.
    pub created_by: String,
}

impl ToolSetRecord {
    /// The record of a stored set with this definition.
    pub fn of(stored: StoredToolSet, set: ToolSet, root: &str) -> Self {
        Self {
            url: format!("{root}/mcp/sets/{}", stored.name),
            name: stored.name,
            allow: set.allow,
            effects: set.effects.map(|effects| effects.into_iter().map(EffectName).collect()),
            mode: set.mode,
            pinned: set.pinned,
            structured: set.structured,
            confirm: set.confirm,
            account: set.account,
            created_at: stored.created_at.into(),
            created_by: stored.created_by,
        }
    }
}

/// A page of tool sets.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolSetPage")]
pub struct ToolSetPageRecord {
    /// In the order of their names.
    pub sets: Vec<ToolSetRecord>,
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A tool set was deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToolSetDeleted")]
pub struct ToolSetDeletedRecord {
    pub name: String,
    #[schemars(extend("const" = true))]
    pub deleted: bool,
}
