//! The routes of the gateway itself: its connectors, its health, its description and its metrics.

use crate::openapi::gateway;
use crate::{docs, home, system};
use endpoint::route::Handler::{Known, Operator, Public};
use endpoint::route::Members::By;
use endpoint::route::{Endpoint, Family, Query, Route};
use rest::connectors;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/connectors",
        family: Family::Connectors,
        methods: &[Endpoint::get(Known(|call, caller| Box::pin(connectors::list_connectors(call, caller)))).described(
            "connectors",
            "The live connectors, and modules that were refused. Keys with the scope `admin` see the reasons.",
            By(gateway::describe_connectors),
        )],
    },
    Route {
        path: "/",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(home::get_page(call)))).query(Query::Any)],
    },
    Route {
        path: "/healthz",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(system::get_health(call)))).described(
            "healthz",
            "Answers while the process runs.",
            By(gateway::describe_health),
        )],
    },
    Route {
        path: "/readyz",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(system::get_readiness(call)))).described(
            "readyz",
            "Answers 200 while the gateway accepts requests, and 503 once it is about to stop.",
            By(gateway::describe_readiness),
        )],
    },
    Route {
        path: "/openapi.json",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(system::get_description(call)))).query(Query::Read).described(
            "openapi",
            "This document.",
            By(gateway::describe_openapi),
        )],
    },
    Route {
        path: "/docs",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(docs::get_page(call)))).query(Query::Any).described(
            "docs",
            "This API as a page for browsers.",
            By(gateway::describe_docs),
        )],
    },
    Route {
        path: "/docs/page.js",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(docs::get_script(call)))).query(Query::Any)],
    },
    Route {
        path: "/docs/scalar.js",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(docs::get_library(call)))).query(Query::Any)],
    },
    Route {
        path: "/docs/{connector}",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(docs::get_page_of_connector(call))))
            .query(Query::Any)
            .described(
                "connector_docs",
                "The operations of one connector as a page for browsers.",
                By(gateway::describe_docs),
            )],
    },
    Route {
        path: "/metrics",
        family: Family::System,
        methods: &[Endpoint::get(Operator(|call| Box::pin(system::get_metrics(call)))).described(
            "metrics",
            "Counters and histograms for Prometheus. Needs no key at `admin_listen`.",
            By(gateway::describe_metrics),
        )],
    },
];
