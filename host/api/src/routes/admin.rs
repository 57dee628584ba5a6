//! The routes that change connectors, and that show their versions, grants and history.

use hyper::Method;

use crate::admin;
use crate::openapi::gateway;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use auth::Scope::Admin;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/admin/gateways",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_gateways(call))),
            description: Some(Description {
                id: "gateways",
                summary: "The gateways that share the database, with their states.",
                members: gateway::describe_gateways,
            }),
        }],
    },
    Route {
        path: "/admin/connectors",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::Read,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_service_connectors(call))),
                description: Some(Description {
                    id: "connectors.list",
                    summary: "The connectors of the service, and what each gateway serves of them.",
                    members: gateway::describe_service_connectors,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::Read,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::install_connector(call, caller))),
                description: Some(Description {
                    id: "connectors.install",
                    summary: "Installs a module, or swaps in another version.",
                    members: gateway::describe_install,
                }),
            },
        ],
    },
    Route {
        path: "/admin/connectors/{connector}",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::DELETE,
            takes_head: false,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::remove_connector(call, caller))),
            description: Some(Description {
                id: "connectors.remove",
                summary: "Removes a connector. Calls in progress end on it.",
                members: gateway::describe_removed,
            }),
        }],
    },
    Route {
        path: "/admin/connectors/{connector}/rollback",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::roll_back_connector(call, caller))),
            description: Some(Description {
                id: "connectors.rollback",
                summary: "Swaps in the previous version, or another stored one.",
                members: gateway::describe_rolled_back,
            }),
        }],
    },
    Route {
        path: "/admin/connectors/{connector}/versions",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_versions(call))),
            description: Some(Description {
                id: "connectors.versions",
                summary: "Stored versions of a connector, the newest first.",
                members: gateway::describe_versions,
            }),
        }],
    },
    Route {
        path: "/admin/connectors/{connector}/history",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_history(call))),
            description: Some(Description {
                id: "connectors.history",
                summary: "Changes of a connector with their actors, the newest first. A removed one keeps them.",
                members: gateway::describe_history,
            }),
        }],
    },
    Route {
        path: "/admin/connectors/{connector}/grants",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::Read,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_grants(call))),
                description: Some(Description {
                    id: "connectors.grants",
                    summary: "The hosts of a connector, and if it may reach them.",
                    members: gateway::describe_grants,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::Read,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::grant_hosts(call, caller))),
                description: Some(Description {
                    id: "connectors.grant",
                    summary: "Lets a connector reach hosts, in addition to those that it was granted before.",
                    members: gateway::describe_changed_grants,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::Read,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::revoke_hosts(call, caller))),
                description: Some(Description {
                    id: "connectors.revoke",
                    summary: "Takes from a connector the right to reach hosts.",
                    members: gateway::describe_changed_grants,
                }),
            },
        ],
    },
    Route {
        path: "/admin/grants",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_all_grants(call))),
            description: Some(Description {
                id: "grants",
                summary: "The hosts of all connectors that need grants.",
                members: gateway::describe_grants,
            }),
        }],
    },
    Route {
        path: "/admin/history",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_history(call))),
            description: Some(Description {
                id: "history",
                summary: "Changes of all connectors with their actors, the newest first.",
                members: gateway::describe_history,
            }),
        }],
    },
];
