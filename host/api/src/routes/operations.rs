//! The routes of operations, of their jobs, and of the secrets that the webhooks of jobs are signed
//! with.

use hyper::Method;

use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use crate::{jobs, openapi, operations, webhooks};
use auth::Scope::{Integrate, Operate};

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/connectors/{connector}/{operation}",
        family: Family::Operations,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::Any,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(operations::invoke_operation(call, caller))),
            description: None,
        }],
    },
    Route {
        path: "/jobs",
        family: Family::Jobs,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(jobs::list_jobs(call, caller))),
            description: Some(Description {
                id: "list",
                summary: "The caller's own jobs, the newest first.",
                members: openapi::jobs::describe_list,
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
                query: Query::None,
                handler: Handler::Scoped(Operate, |call, caller| Box::pin(jobs::get_job(call, caller))),
                description: Some(Description {
                    id: "get",
                    summary: "One job, with its progress, and its result or error.",
                    members: openapi::jobs::describe_get,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Operate, |call, caller| Box::pin(jobs::cancel_job(call, caller))),
                description: Some(Description {
                    id: "cancel",
                    summary: "Cancels a job that has not ended.",
                    members: openapi::jobs::describe_cancel,
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
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(webhooks::create_secret(call, caller))),
                description: Some(Description {
                    id: "secrets.create",
                    summary: "Makes a secret that the tenant's webhooks are signed with.",
                    members: openapi::webhooks::describe_create,
                }),
            },
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(webhooks::list_secrets(call, caller))),
                description: Some(Description {
                    id: "secrets.list",
                    summary: "The tenant's valid webhook secrets, without the secrets themselves.",
                    members: openapi::webhooks::describe_list,
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
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(webhooks::delete_secret(call, caller))),
            description: Some(Description {
                id: "secrets.delete",
                summary: "Ends a webhook secret.",
                members: openapi::webhooks::describe_delete,
            }),
        }],
    },
];
