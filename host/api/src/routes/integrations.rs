//! The routes of integrations.

use hyper::Method;

use crate::integrations;
use crate::openapi::lifecycle;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use auth::Scope::Integrate;

/// The path at which an application connects accounts.
pub(crate) const INTEGRATIONS: &str = "/connectors/{connector}/integrations";

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: INTEGRATIONS,
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::begin_integration(call, caller))),
            description: Some(Description {
                id: "begin",
                summary: "Connects an account: begins an authorization, or stores the user's key.",
                members: lifecycle::describe_begin,
            }),
        }],
    },
    Route {
        path: "/connectors/{connector}/authorizations/{authorization_id}",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::get_authorization(call, caller))),
            description: Some(Description {
                id: "authorization",
                summary: "The progress of an authorization that was begun with a device code.",
                members: lifecycle::describe_authorization,
            }),
        }],
    },
    Route {
        path: "/connectors/{connector}/integration-exists",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| {
                Box::pin(integrations::integration_exists(call, caller))
            }),
            description: Some(Description {
                id: "exists",
                summary: "Says if the caller's user has connected an account.",
                members: lifecycle::describe_exists,
            }),
        }],
    },
    Route {
        path: "/connectors/{connector}/auth-schema",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, _| Box::pin(integrations::get_auth_schema(call))),
            description: Some(Description {
                id: "auth_schema",
                summary: "How users of the connector authenticate, and the schema of the body of POST …/integrations.",
                members: lifecycle::describe_auth_schema,
            }),
        }],
    },
    Route {
        path: "/connectors/{connector}/success-authorize-callback",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::GET,
            // A program that looks ahead with HEAD must not use up the `state`.
            takes_head: false,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(integrations::complete_authorization(call))),
            description: Some(Description {
                id: "callback",
                summary: "The provider sends the user's browser back to this address.",
                members: lifecycle::describe_callback,
            }),
        }],
    },
    Route {
        path: "/connectors/{connector}/integrations/{user_identifier}",
        family: Family::Integrations,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| {
                    Box::pin(integrations::get_integration(call, caller))
                }),
                description: Some(Description {
                    id: "get",
                    summary: "One integration.",
                    members: lifecycle::describe_integration,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| {
                    Box::pin(integrations::select_integration(call, caller))
                }),
                description: Some(Description {
                    id: "select",
                    summary: "Selects it: operations run on it when the caller names no other.",
                    members: lifecycle::describe_integration,
                }),
            },
            Endpoint {
                method: Method::PATCH,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| {
                    Box::pin(integrations::change_integration(call, caller))
                }),
                description: Some(Description {
                    id: "change",
                    summary: "Sets its labels.",
                    members: lifecycle::describe_change,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| {
                    Box::pin(integrations::remove_integration(call, caller))
                }),
                description: Some(Description {
                    id: "remove",
                    summary: "Revokes the access at the service if possible, and deletes the integration in any case.",
                    members: lifecycle::describe_remove,
                }),
            },
        ],
    },
    Route {
        path: "/connectors/{connector}/integrations/{user_identifier}/confirm",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| {
                Box::pin(integrations::confirm_integration(call, caller))
            }),
            description: Some(Description {
                id: "confirm",
                summary: "Confirms a grant that was begun with `confirm`, so that the account is used.",
                members: lifecycle::describe_confirm,
            }),
        }],
    },
    Route {
        path: "/integrations",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::list_integrations(call, caller))),
            description: Some(Description {
                id: "list",
                summary: "The accounts that the caller's user has connected.",
                members: lifecycle::describe_list,
            }),
        }],
    },
];
