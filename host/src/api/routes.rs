//! The table of routes: every path of the API, who may call it, the function that answers, and its description.

use std::sync::LazyLock;

use hyper::Method;

use super::openapi::{self, gateway, lifecycle};
use super::route::{Description, Endpoint, Family, Handler, PathArguments, Route};
use super::{admin, connectors, docs, integrations, jobs, operations, system, webhooks};
use crate::auth::Scope::{Admin, Integrate, Operate};

/// The first path that matches a request's path answers it. So the pattern of operations comes after the paths of the same
/// length.
pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/connectors/{connector}/integrations",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::begin(call, caller))),
            description: Some(Description {
                id: "begin",
                summary: "Connects an account: begins an authorization, or takes the user's key.",
                members: lifecycle::begin,
            }),
        }],
    },
    Route {
        path: "/connectors/{connector}/integration-exists",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::exists(call, caller))),
            description: Some(Description {
                id: "exists",
                summary: "Says if the caller's user has connected an account.",
                members: lifecycle::exists,
            }),
        }],
    },
    Route {
        path: "/connectors/{connector}/auth-schema",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Scoped(Integrate, |call, _| Box::pin(integrations::auth_schema(call))),
            description: Some(Description {
                id: "auth_schema",
                summary: "How users of the connector authenticate, and the schema of the body of POST …/integrations.",
                members: lifecycle::auth_schema,
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
            handler: Handler::Public(|call| Box::pin(integrations::callback(call))),
            description: Some(Description {
                id: "callback",
                summary: "The provider sends the user's browser back to this address.",
                members: lifecycle::callback,
            }),
        }],
    },
    Route {
        path: "/connectors/{connector}/{operation}",
        family: Family::Operations,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(operations::invoke(call, caller))),
            description: None,
        }],
    },
    Route {
        path: "/connectors/{connector}/integrations/{user_identifier}",
        family: Family::Integrations,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::get(call, caller))),
                description: Some(Description {
                    id: "get",
                    summary: "One integration.",
                    members: lifecycle::integration,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::select(call, caller))),
                description: Some(Description {
                    id: "select",
                    summary: "Selects it: operations run on it when the caller names no other.",
                    members: lifecycle::integration,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::remove(call, caller))),
                description: Some(Description {
                    id: "remove",
                    summary: "Revokes the access at the service if possible, and deletes the integration in any case.",
                    members: lifecycle::remove,
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
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::confirm(call, caller))),
            description: Some(Description {
                id: "confirm",
                summary: "Confirms a grant that was begun with `confirm`, so that the account is used.",
                members: lifecycle::confirm,
            }),
        }],
    },
    Route {
        path: "/integrations",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(integrations::list(call, caller))),
            description: Some(Description {
                id: "list",
                summary: "The accounts that the caller's user has connected.",
                members: lifecycle::list,
            }),
        }],
    },
    Route {
        path: "/jobs",
        family: Family::Jobs,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(jobs::list(call, caller))),
            description: Some(Description {
                id: "list",
                summary: "The caller's own jobs, the newest first.",
                members: openapi::jobs::list,
            }),
        }],
    },
    Route {
        path: "/jobs/{job_id}",
        family: Family::Jobs,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                handler: Handler::Scoped(Operate, |call, caller| Box::pin(jobs::get(call, caller))),
                description: Some(Description {
                    id: "get",
                    summary: "One job, with its progress, and its result or error.",
                    members: openapi::jobs::get,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                handler: Handler::Scoped(Operate, |call, caller| Box::pin(jobs::cancel(call, caller))),
                description: Some(Description {
                    id: "cancel",
                    summary: "Cancels a job that has not ended.",
                    members: openapi::jobs::cancel,
                }),
            },
        ],
    },
    Route {
        path: "/webhooks/secrets",
        family: Family::Webhooks,
        methods: &[
            Endpoint {
                method: Method::POST,
                takes_head: false,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(webhooks::create(call, caller))),
                description: Some(Description {
                    id: "secrets.create",
                    summary: "Makes a secret that the tenant's webhooks are signed with.",
                    members: openapi::webhooks::create,
                }),
            },
            Endpoint {
                method: Method::GET,
                takes_head: true,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(webhooks::list(call, caller))),
                description: Some(Description {
                    id: "secrets.list",
                    summary: "The tenant's valid webhook secrets, without the secrets themselves.",
                    members: openapi::webhooks::list,
                }),
            },
        ],
    },
    Route {
        path: "/webhooks/secrets/{secret_id}",
        family: Family::Webhooks,
        methods: &[Endpoint {
            method: Method::DELETE,
            takes_head: false,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(webhooks::delete(call, caller))),
            description: Some(Description {
                id: "secrets.delete",
                summary: "Ends a webhook secret.",
                members: openapi::webhooks::delete,
            }),
        }],
    },
    Route {
        path: "/connectors",
        family: Family::Connectors,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Known(|call, caller| Box::pin(connectors::list(call, caller))),
            description: Some(Description {
                id: "connectors",
                summary: "The live connectors, and modules that were refused. Keys with the scope `admin` see the reasons.",
                members: gateway::connectors,
            }),
        }],
    },
    Route {
        path: "/admin/connectors",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::install(call, caller))),
            description: Some(Description {
                id: "connectors.install",
                summary: "Installs a module, or swaps in another version.",
                members: gateway::install,
            }),
        }],
    },
    Route {
        path: "/admin/connectors/{connector}",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::DELETE,
            takes_head: false,
            handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::remove(call, caller))),
            description: Some(Description {
                id: "connectors.remove",
                summary: "Removes a connector. Calls under way end on it.",
                members: gateway::removed,
            }),
        }],
    },
    Route {
        path: "/admin/connectors/{connector}/rollback",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::rollback(call, caller))),
            description: Some(Description {
                id: "connectors.rollback",
                summary: "Swaps in the version before the present one, or another stored one.",
                members: gateway::rolled_back,
            }),
        }],
    },
    Route {
        path: "/admin/connectors/{connector}/versions",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::versions(call))),
            description: Some(Description {
                id: "connectors.versions",
                summary: "Stored versions of a connector, the newest first.",
                members: gateway::versions,
            }),
        }],
    },
    Route {
        path: "/admin/connectors/{connector}/history",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::history(call))),
            description: Some(Description {
                id: "connectors.history",
                summary: "Changes of a connector with their actors, the newest first. A removed one keeps them.",
                members: gateway::history,
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
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::grants(call))),
                description: Some(Description {
                    id: "connectors.grants",
                    summary: "The hosts of a connector, and if it may reach them.",
                    members: gateway::grants,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::grant(call, caller))),
                description: Some(Description {
                    id: "connectors.grant",
                    summary: "Lets a connector reach hosts, besides those that it was granted before.",
                    members: gateway::changed_grants,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::revoke(call, caller))),
                description: Some(Description {
                    id: "connectors.revoke",
                    summary: "Lets a connector no longer reach hosts.",
                    members: gateway::changed_grants,
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
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::all_grants(call))),
            description: Some(Description {
                id: "grants",
                summary: "The hosts of all connectors that need grants.",
                members: gateway::grants,
            }),
        }],
    },
    Route {
        path: "/admin/history",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::history(call))),
            description: Some(Description {
                id: "history",
                summary: "Changes of all connectors with their actors, the newest first.",
                members: gateway::history,
            }),
        }],
    },
    Route {
        path: "/healthz",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Public(|call| Box::pin(system::health(call))),
            description: Some(Description {
                id: "healthz",
                summary: "Answers while the process runs.",
                members: gateway::health,
            }),
        }],
    },
    Route {
        path: "/readyz",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Public(|call| Box::pin(system::ready(call))),
            description: Some(Description {
                id: "readyz",
                summary: "Answers 200 while the gateway takes requests, and 503 once it is about to stop.",
                members: gateway::readiness,
            }),
        }],
    },
    Route {
        path: "/openapi.json",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Public(|call| Box::pin(system::openapi(call))),
            description: Some(Description { id: "openapi", summary: "This document.", members: gateway::openapi }),
        }],
    },
    Route {
        path: "/docs",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Public(|call| Box::pin(docs::page(call))),
            description: Some(Description {
                id: "docs",
                summary: "This API as a page for browsers.",
                members: gateway::docs,
            }),
        }],
    },
    Route {
        path: "/docs/page.js",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Public(|call| Box::pin(docs::script(call))),
            description: None,
        }],
    },
    Route {
        path: "/docs/scalar.js",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Public(|call| Box::pin(docs::library(call))),
            description: None,
        }],
    },
    Route {
        path: "/docs/{connector}",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Public(|call| Box::pin(docs::page_of_connector(call))),
            description: Some(Description {
                id: "connector_docs",
                summary: "The operations of one connector as a page for browsers.",
                members: gateway::docs,
            }),
        }],
    },
    Route {
        path: "/metrics",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            handler: Handler::Operator(|call| Box::pin(system::metrics(call))),
            description: Some(Description {
                id: "metrics",
                summary: "Counters and histograms for Prometheus. Needs no key at `admin_listen`.",
                members: gateway::metrics,
            }),
        }],
    },
];

/// The most segments that a path of the table has.
const MAX_SEGMENTS: usize = 5;

/// The table with each pattern cut into segments once.
static SEGMENTED: LazyLock<Vec<(Vec<&str>, &Route)>> =
    LazyLock::new(|| ROUTES.iter().map(|route| (route.path.split('/').skip(1).collect(), route)).collect());

/// The route of a path, and the path's arguments.
pub(super) fn find(path: &str) -> Option<(&'static Route, PathArguments<'_>)> {
    let mut segments = [""; MAX_SEGMENTS];
    let mut count = 0;
    for segment in path.strip_prefix('/')?.split('/') {
        *segments.get_mut(count)? = segment;
        count += 1;
    }
    let segments = segments.get(..count)?;
    SEGMENTED.iter().find_map(|(pattern, route)| Some((*route, arguments(pattern, segments)?)))
}

/// The arguments of a path, or `None` if the pattern does not match it. An argument is never empty.
fn arguments<'a>(pattern: &[&str], segments: &[&'a str]) -> Option<PathArguments<'a>> {
    if pattern.len() != segments.len() {
        return None;
    }
    let mut arguments = PathArguments::default();
    for (expected, segment) in pattern.iter().zip(segments) {
        if expected.starts_with('{') {
            *arguments.field(expected)? = Some(*segment).filter(|segment| !segment.is_empty())?;
        } else if expected != segment {
            return None;
        }
    }
    Some(arguments)
}

#[cfg(test)]
mod tests;
