//! Bodies and answers about agent sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operator::{AllowList, EffectList, EffectName, Name};
use clock::timestamp::Timestamp;
use store::Shown;

/// An agent session to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgentSessionBody {
    /// The user that the agent acts for. Without it, the user of the token that makes the session,
    /// or the tenant itself. A token that is bound to a user makes no session of another one.
    #[schemars(with = "Option<Name>")]
    pub subject: Option<String>,
    /// The account that every call uses; no other one can be named or chosen. Without it, calls
    /// choose it.
    #[schemars(with = "Option<Name>", extend("not" = {"enum": [".", ".."]}))]
    pub user_identifier: Option<String>,
    /// The tool set whose address the token is for. Without it, the token is for `/mcp`, and for
    /// `/mcp/{connector}`.
    #[schemars(regex(pattern = "^[a-z0-9_-]{1,64}$"))]
    pub set: Option<String>,
    /// The connectors and operations (`connector/operation`) that the agent may call, as far as its
    /// maker may. Without it, all that its maker may call.
    #[schemars(with = "Option<AllowList>")]
    pub allow: Option<Vec<String>>,
    /// The effects of operations that the agent may call, as far as its maker may. Without it, all
    /// that its maker may call.
    #[schemars(with = "Option<EffectList>")]
    pub effects: Option<Vec<EffectName>>,
    /// `true`: each call of a destructive operation must be confirmed. The default is that of its
    /// maker.
    pub confirm: Option<bool>,
    /// Seconds for which the token can be used. The default is 3600. It ends earlier if the token of
    /// its maker does.
    #[schemars(range(min = 60, max = 86400))]
    pub expires_in_s: Option<u64>,
}

/// An agent session that was just made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentSession")]
pub struct AgentSessionCreatedRecord<'a> {
    pub id: String,
    /// The agent sends it as `Authorization: Bearer`. It is shown only now.
    #[schemars(with = "String")]
    pub token: Shown<'a>,
    /// The address for the agent (Model Context Protocol).
    pub url: String,
    pub expires_at: Timestamp,
}

/// An agent session was deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentSessionDeleted")]
pub struct AgentSessionDeletedRecord {
    pub id: String,
    #[schemars(extend("const" = true))]
    pub deleted: bool,
}
