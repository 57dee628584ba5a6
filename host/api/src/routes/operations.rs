//! The routes of operations, of their jobs, and of the secrets that the webhooks of jobs are signed
//! with.

use crate::openapi;
use auth::Scope::{Integrate, Operate};
use endpoint::route::Handler::Scoped;
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Query, Route};
use rest::{jobs, operations, webhooks};

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/connectors/{connector}/{operation}",
        family: Family::Operations,
        methods: &[Endpoint::post(Scoped(Operate, |call, caller| {
            Box::pin(operations::invoke_operation(call, caller))
        }))
        .query(Query::Any)],
    },
    Route {
        path: "/jobs",
        family: Family::Jobs,
        methods: &[Endpoint::get(Scoped(Operate, |call, caller| Box::pin(jobs::list_jobs(call, caller))))
            .list::<jobs::OwnJobs>()
            .described("list", "The caller's own jobs, the newest first.", Record("A page of jobs.", "JobPage"))],
    },
    Route {
        path: "/jobs/{job_id}",
        family: Family::Jobs,
        methods: &[
            Endpoint::get(Scoped(Operate, |call, caller| Box::pin(jobs::get_job(call, caller)))).described(
                "get",
                "One job, with its progress, and its result or error.",
                Record("The job.", "Job"),
            ),
            Endpoint::delete(Scoped(Operate, |call, caller| Box::pin(jobs::cancel_job(call, caller)))).described(
                "cancel",
                "Cancels a job that has not ended.",
                Record("A cancelled job has failed with the problem `cancelled`.", "JobCancelled"),
            ),
        ],
    },
    Route {
        path: "/webhooks/secrets",
        family: Family::Webhooks,
        methods: &[
            Endpoint::post(Scoped(Integrate, |call, caller| Box::pin(webhooks::create_secret(call, caller))))
                .described(
                    "secrets.create",
                    "Makes a secret that the tenant's webhooks are signed with.",
                    By(openapi::webhooks::describe_create),
                ),
            Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(webhooks::list_secrets(call, caller)))).described(
                "secrets.list",
                "The tenant's valid webhook secrets, without the secrets themselves.",
                Record("The valid secrets, the current one first.", "WebhookSecrets"),
            ),
        ],
    },
    Route {
        path: "/webhooks/secrets/{secret_id}",
        family: Family::Webhooks,
        methods: &[Endpoint::delete(Scoped(Integrate, |call, caller| Box::pin(webhooks::delete_secret(call, caller))))
            .described(
                "secrets.delete",
                "Ends a webhook secret.",
                Record("Nothing is signed with the secret any more.", "WebhookSecretDeleted"),
            )],
    },
];
