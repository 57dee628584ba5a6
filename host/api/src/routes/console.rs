//! The routes of the console: its page, its files, and sessions. They belong to the family of the
//! operator, so that they move to `admin_listen` with the routes that the console calls.

use hyper::Method;

use crate::console;
use crate::openapi::console as described;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use auth::Scope::Admin;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/console",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(console::get_page(call))),
            description: None,
        }],
    },
    Route {
        path: "/console/session",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(console::get_session(call, caller))),
                description: Some(Description {
                    id: "console.session",
                    summary: "The session of an operator at the console.",
                    members: described::describe_session,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(console::sign_in(call, caller))),
                description: Some(Description {
                    id: "console.sign_in",
                    summary: "Signs in to the console with an API key.",
                    members: described::describe_sign_in,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(console::sign_out(call))),
                description: Some(Description {
                    id: "console.sign_out",
                    summary: "Signs out of the console.",
                    members: described::describe_sign_out,
                }),
            },
        ],
    },
    Route {
        path: "/console/sign-in",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Public(|call| Box::pin(console::get_ways(call))),
            description: Some(Description {
                id: "console.ways",
                summary: "The ways to sign in to the console.",
                members: described::describe_ways,
            }),
        }],
    },
    Route {
        path: "/console/oidc",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: false,
            query: Query::None,
            handler: Handler::Public(|call| Box::pin(console::begin_oidc(call))),
            description: None,
        }],
    },
    Route {
        path: "/console/oidc/callback",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: false,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(console::finish_oidc(call))),
            description: None,
        }],
    },
    Route {
        path: "/console/{file}",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(console::get_file(call))),
            description: None,
        }],
    },
];
