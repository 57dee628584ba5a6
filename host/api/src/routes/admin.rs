//! The routes that change connectors, and that show their versions, grants and history.

use crate::openapi::gateway;
use auth::Scope::Admin;
use endpoint::route::Handler::Scoped;
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Query, Route};
use operators::admin;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/admin/gateways",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_gateways(call)))).page().described(
            "gateways",
            "The gateways that share the database, with their states.",
            Record("The gateways, by name.", "Gateways"),
        )],
    },
    Route {
        path: "/admin/connectors",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_service_connectors(call))))
                .list::<admin::ServiceConnectors>()
                .described(
                    "connectors.list",
                    "The connectors of the service, and what each gateway serves of them.",
                    Record("A page of the connectors.", "ServiceConnectors"),
                ),
            Endpoint::post(Scoped(Admin, |call, caller| Box::pin(admin::install_connector(call, caller))))
                .query(Query::Read)
                .described(
                    "connectors.install",
                    "Installs a module, or swaps in another version.",
                    By(gateway::describe_install),
                ),
        ],
    },
    Route {
        path: "/admin/connectors/{connector}",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_connector(call)))).described(
                "connectors.get",
                "A connector as the gateway that answers serves it, with the request that each operation sends.",
                Record("The connector.", "Connector"),
            ),
            Endpoint::delete(Scoped(Admin, |call, caller| Box::pin(admin::remove_connector(call, caller))))
                .query(Query::Read)
                .described(
                    "connectors.remove",
                    "Removes a connector. Calls in progress end on it.",
                    By(gateway::describe_removed),
                ),
        ],
    },
    Route {
        path: "/admin/connectors/{connector}/rollback",
        family: Family::Admin,
        methods: &[Endpoint::post(Scoped(Admin, |call, caller| Box::pin(admin::roll_back_connector(call, caller))))
            .query(Query::Read)
            .described(
                "connectors.rollback",
                "Swaps in the previous version, or another stored one.",
                By(gateway::describe_rolled_back),
            )],
    },
    Route {
        path: "/admin/connectors/{connector}/versions",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_versions(call)))).page().described(
            "connectors.versions",
            "Stored versions of a connector, the newest first.",
            Record("The versions that were live, with the present one.", "StoredVersions"),
        )],
    },
    Route {
        path: "/admin/connectors/{connector}/history",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_history(call))))
            .query(Query::Read)
            .described(
                "connectors.history",
                "Changes of a connector with their actors, the newest first. A removed one keeps them.",
                By(gateway::describe_history),
            )],
    },
    Route {
        path: "/admin/connectors/{connector}/grants",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_grants(call)))).page().described(
                "connectors.grants",
                "The hosts of a connector, and if it may reach them.",
                By(gateway::describe_grants),
            ),
            Endpoint::post(Scoped(Admin, |call, caller| Box::pin(admin::grant_hosts(call, caller))))
                .query(Query::Read)
                .described(
                    "connectors.grant",
                    "Lets a connector reach hosts, in addition to those that it was granted before.",
                    By(gateway::describe_changed_grants),
                ),
            Endpoint::delete(Scoped(Admin, |call, caller| Box::pin(admin::revoke_hosts(call, caller))))
                .query(Query::Read)
                .described(
                    "connectors.revoke",
                    "Takes from a connector the right to reach hosts.",
                    By(gateway::describe_changed_grants),
                ),
        ],
    },
    Route {
        path: "/admin/grants",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_all_grants(call)))).page().described(
            "grants",
            "The hosts of all connectors that need grants.",
            By(gateway::describe_grants),
        )],
    },
    Route {
        path: "/admin/history",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_history(call))))
            .query(Query::Read)
            .described(
                "history",
                "Changes of all connectors with their actors, the newest first.",
                By(gateway::describe_history),
            )],
    },
];
