//! The routes of keys, integrations, jobs and webhooks of all tenants, of the tenants and their
//! OAuth clients, and of the audit.

use crate::openapi::operator;
use auth::Scope::Admin;
use endpoint::route::Handler::Scoped;
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Query, Route};
use operators::admin;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/admin/settings",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_settings(call)))).described(
            "settings",
            "The configuration of the gateway that answers, without secrets.",
            By(operator::describe_settings),
        )],
    },
    Route {
        path: "/admin/doctor",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_findings(call)))).described(
            "doctor",
            "What is wrong with the gateway that answers, and what to do.",
            By(operator::describe_findings),
        )],
    },
    Route {
        path: "/admin/samples",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_samples(call)))).described(
            "samples",
            "Requests, errors, latency and saturation of the gateway that answers, over the last hour.",
            By(operator::describe_samples),
        )],
    },
    Route {
        path: "/admin/audit",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_audit(call))))
            .list::<admin::Audit>()
            .described(
                "audit",
                "Changes by people, keys and files, the newest first.",
                Record("Entries. The gateway keeps them for `audit.keep_days`, and never changes them.", "AuditPage"),
            )],
    },
    Route {
        path: "/admin/keys",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_keys(call)))).list::<admin::Keys>().described(
                "keys.list",
                "API keys, the newest first. Revoked ones are among them.",
                Record("Keys, without the keys themselves.", "KeyPage"),
            ),
            Endpoint::post(Scoped(Admin, |call, caller| Box::pin(admin::create_key(call, caller)))).described(
                "keys.create",
                "Makes an API key, and shows it this once.",
                By(operator::describe_new_key),
            ),
        ],
    },
    Route {
        path: "/admin/keys/{key_id}",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_key(call)))).described(
                "keys.get",
                "One API key.",
                Record("The key, without the key itself.", "Key"),
            ),
            Endpoint::delete(Scoped(Admin, |call, _| Box::pin(admin::revoke_key(call)))).described(
                "keys.revoke",
                "Revokes an API key. Every gateway that reaches the database refuses it within two seconds.",
                Record("The key is revoked, perhaps since earlier.", "KeyRevoked"),
            ),
        ],
    },
    Route {
        path: "/admin/integrations",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_integrations(call))))
            .list::<admin::AnyIntegrations>()
            .described(
                "integrations.list",
                "Accounts of all tenants, the newest first.",
                Record("Accounts.", "AnyIntegrationPage"),
            )],
    },
    Route {
        path: "/admin/integrations/import",
        family: Family::Admin,
        methods: &[Endpoint::post(Scoped(Admin, |call, _| Box::pin(admin::import_integrations(call))))
            .query(Query::Read)
            .described(
                "integrations.import",
                "Imports accounts of other systems, one in each line.",
                By(operator::describe_import),
            )],
    },
    Route {
        path: "/admin/integrations/{integration_id}",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_integration(call)))).described(
                "integrations.get",
                "One account.",
                Record("The account.", "AnyIntegration"),
            ),
            Endpoint::delete(Scoped(Admin, |call, _| Box::pin(admin::remove_integration(call)))).described(
                "integrations.remove",
                "Revokes the access at the service if possible, and deletes the integration in any case.",
                Record("The integration is deleted.", "IntegrationDeleted"),
            ),
        ],
    },
    Route {
        path: "/admin/integrations/{integration_id}/renew",
        family: Family::Admin,
        methods: &[Endpoint::post(Scoped(Admin, |call, _| Box::pin(admin::renew_integration(call)))).described(
            "integrations.renew",
            "Refreshes the tokens of an account now.",
            By(operator::describe_renewed_integration),
        )],
    },
    Route {
        path: "/admin/connect-links",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_connect_links(call))))
            .list::<admin::AnyConnectLinks>()
            .described(
                "links.list",
                "Links of all tenants to the page on which users connect accounts.",
                Record("Links. The one that expires last is first.", "AnyConnectLinkPage"),
            )],
    },
    Route {
        path: "/admin/jobs",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_jobs(call))))
            .list::<admin::AnyJobs>()
            .described("jobs.list", "Jobs of all tenants, the newest first.", Record("Jobs.", "AnyJobPage"))],
    },
    Route {
        path: "/admin/jobs/{job_id}",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_job(call)))).described(
                "jobs.get",
                "One job.",
                Record("The job.", "AnyJob"),
            ),
            Endpoint::delete(Scoped(Admin, |call, _| Box::pin(admin::cancel_job(call)))).described(
                "jobs.cancel",
                "Cancels a job.",
                Record("The job has ended, now or before.", "JobCancelled"),
            ),
        ],
    },
    Route {
        path: "/admin/webhooks",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_webhooks(call))))
            .list::<admin::AnyWebhooks>()
            .described(
                "webhooks.list",
                "Webhooks of all tenants, the newest first.",
                Record("Webhooks.", "AnyWebhookPage"),
            )],
    },
    Route {
        path: "/admin/webhooks/{webhook_id}/resend",
        family: Family::Admin,
        methods: &[Endpoint::post(Scoped(Admin, |call, _| Box::pin(admin::resend_webhook(call)))).described(
            "webhooks.resend",
            "Sends a webhook once more.",
            By(operator::describe_resent_webhook),
        )],
    },
    Route {
        path: "/admin/calls",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_calls(call))))
            .list::<admin::Calls>()
            .described(
                "calls.list",
                "Records of calls, the newest first.",
                Record(
                    "Records of calls. `calls.keep` says which calls have one: those that failed, unless the \
                    operator changes it.",
                    "CallPage",
                ),
            )],
    },
    Route {
        path: "/admin/calls/{request_id}",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_call(call)))).described(
            "calls.get",
            "The record of one call.",
            Record("The record.", "Call"),
        )],
    },
    Route {
        path: "/admin/usage",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_usage(call))))
            .list::<admin::Usage>()
            .described(
                "usage",
                "What tenants have called on each day, the newest day first.",
                Record(
                    "Usage. It is kept for `usage.keep_days`. A gateway that is killed loses the counts of its \
                    last seconds.",
                    "UsagePage",
                ),
            )],
    },
    Route {
        path: "/admin/tenants",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_tenants(call)))).page().described(
            "tenants.list",
            "Tenants, with what they have.",
            Record("Tenants, in the order of their names.", "TenantPage"),
        )],
    },
    Route {
        path: "/admin/tenants/{tenant}/oauth_clients",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_oauth_clients(call)))).page().described(
            "oauth_clients.list",
            "The OAuth clients of a tenant.",
            Record("The OAuth clients of the tenant, without their secrets.", "OauthClients"),
        )],
    },
    Route {
        path: "/admin/tenants/{tenant}/oauth_clients/{oauth_client}",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_oauth_client(call)))).described(
                "oauth_clients.get",
                "One OAuth client of a tenant.",
                By(operator::describe_oauth_client),
            ),
            Endpoint::put(Scoped(Admin, |call, _| Box::pin(admin::set_oauth_client(call)))).described(
                "oauth_clients.set",
                "Sets the OAuth client of a tenant.",
                By(operator::describe_set_oauth_client),
            ),
            Endpoint::delete(Scoped(Admin, |call, _| Box::pin(admin::delete_oauth_client(call)))).described(
                "oauth_clients.delete",
                "Deletes the OAuth client of a tenant.",
                Record("The client is deleted, with those that it has replaced.", "OauthClientDeleted"),
            ),
        ],
    },
];
