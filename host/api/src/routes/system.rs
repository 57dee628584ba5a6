//! The routes of the gateway itself: its connectors, its health, its description and its metrics.

use hyper::Method;

use crate::openapi::gateway;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use crate::{connectors, docs, home, system};

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/connectors",
        family: Family::Connectors,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Known(|call, caller| Box::pin(connectors::list_connectors(call, caller))),
            description: Some(Description {
                id: "connectors",
                summary: "The live connectors, and modules that were refused. Keys with the scope `admin` see the reasons.",
                members: gateway::describe_connectors,
            }),
        }],
    },
    Route {
        path: "/",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(home::get_page(call))),
            description: None,
        }],
    },
    Route {
        path: "/healthz",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Public(|call| Box::pin(system::get_health(call))),
            description: Some(Description {
                id: "healthz",
                summary: "Answers while the process runs.",
                members: gateway::describe_health,
            }),
        }],
    },
    Route {
        path: "/readyz",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Public(|call| Box::pin(system::get_readiness(call))),
            description: Some(Description {
                id: "readyz",
                summary: "Answers 200 while the gateway accepts requests, and 503 once it is about to stop.",
                members: gateway::describe_readiness,
            }),
        }],
    },
    Route {
        path: "/openapi.json",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Public(|call| Box::pin(system::get_description(call))),
            description: Some(Description {
                id: "openapi",
                summary: "This document.",
                members: gateway::describe_openapi,
            }),
        }],
    },
    Route {
        path: "/docs",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(docs::get_page(call))),
            description: Some(Description {
                id: "docs",
                summary: "This API as a page for browsers.",
                members: gateway::describe_docs,
            }),
        }],
    },
    Route {
        path: "/docs/page.js",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(docs::get_script(call))),
            description: None,
        }],
    },
    Route {
        path: "/docs/scalar.js",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(docs::get_library(call))),
            description: None,
        }],
    },
    Route {
        path: "/docs/{connector}",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(docs::get_page_of_connector(call))),
            description: Some(Description {
                id: "connector_docs",
                summary: "The operations of one connector as a page for browsers.",
                members: gateway::describe_docs,
            }),
        }],
    },
    Route {
        path: "/metrics",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Operator(|call| Box::pin(system::get_metrics(call))),
            description: Some(Description {
                id: "metrics",
                summary: "Counters and histograms for Prometheus. Needs no key at `admin_listen`.",
                members: gateway::describe_metrics,
            }),
        }],
    },
];
