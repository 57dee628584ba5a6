//! The routes of agent sessions.

use crate::openapi::agent_sessions as described;
use agents::agent_sessions;
use auth::Scope::Operate;
use endpoint::route::Handler::Scoped;
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Route};

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/agent-sessions",
        family: Family::AgentSessions,
        methods: &[Endpoint::post(Scoped(Operate, |call, caller| {
            Box::pin(agent_sessions::create_session(call, caller))
        }))
        .described(
            "create",
            "Makes an agent session: a token for one address of agents, and shows it this once.",
            By(described::describe_create),
        )],
    },
    Route {
        path: "/agent-sessions/{session_id}",
        family: Family::AgentSessions,
        methods: &[Endpoint::delete(Scoped(Operate, |call, caller| {
            Box::pin(agent_sessions::delete_session(call, caller))
        }))
        .described(
            "delete",
            "Ends an agent session. Every gateway that reaches the database refuses its token within two seconds.",
            Record("The session has ended.", "AgentSessionDeleted"),
        )],
    },
];
