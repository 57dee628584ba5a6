//! The routes of keys, integrations, jobs and webhooks of all tenants, of the tenants and their
//! OAuth clients, and of the audit.

use hyper::Method;

use crate::admin;
use crate::openapi::operator;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use auth::Scope::Admin;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/admin/settings",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_settings(call))),
            description: Some(Description {
                id: "settings",
                summary: "The configuration of the gateway that answers, without secrets.",
                members: operator::describe_settings,
            }),
        }],
    },
    Route {
        path: "/admin/doctor",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_findings(call))),
            description: Some(Description {
                id: "doctor",
                summary: "What is wrong with the gateway that answers, and what to do.",
                members: operator::describe_findings,
            }),
        }],
    },
    Route {
        path: "/admin/samples",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_samples(call))),
            description: Some(Description {
                id: "samples",
                summary: "Requests, errors, latency and saturation of the gateway that answers, over the last hour.",
                members: operator::describe_samples,
            }),
        }],
    },
    Route {
        path: "/admin/audit",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_audit(call))),
            description: Some(Description {
                id: "audit",
                summary: "Changes by people, keys and files, the newest first.",
                members: operator::describe_audit,
            }),
        }],
    },
    Route {
        path: "/admin/keys",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::Read,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_keys(call))),
                description: Some(Description {
                    id: "keys.list",
                    summary: "API keys, the newest first. Revoked ones are among them.",
                    members: operator::describe_keys,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::create_key(call, caller))),
                description: Some(Description {
                    id: "keys.create",
                    summary: "Makes an API key, and shows it this once.",
                    members: operator::describe_new_key,
                }),
            },
        ],
    },
    Route {
        path: "/admin/keys/{key_id}",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_key(call))),
                description: Some(Description {
                    id: "keys.get",
                    summary: "One API key.",
                    members: operator::describe_key,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::revoke_key(call))),
                description: Some(Description {
                    id: "keys.revoke",
                    summary: "Revokes an API key. Every gateway that reaches the database refuses it within two seconds.",
                    members: operator::describe_revoked_key,
                }),
            },
        ],
    },
    Route {
        path: "/admin/integrations",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_integrations(call))),
            description: Some(Description {
                id: "integrations.list",
                summary: "Accounts of all tenants, the newest first.",
                members: operator::describe_integrations,
            }),
        }],
    },
    Route {
        path: "/admin/integrations/import",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::import_integrations(call))),
            description: Some(Description {
                id: "integrations.import",
                summary: "Imports accounts of other systems, one in each line.",
                members: operator::describe_import,
            }),
        }],
    },
    Route {
        path: "/admin/integrations/{integration_id}",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_integration(call))),
                description: Some(Description {
                    id: "integrations.get",
                    summary: "One account.",
                    members: operator::describe_integration,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::remove_integration(call))),
                description: Some(Description {
                    id: "integrations.remove",
                    summary: "Revokes the access at the service if possible, and deletes the integration in any case.",
                    members: operator::describe_removed_integration,
                }),
            },
        ],
    },
    Route {
        path: "/admin/integrations/{integration_id}/renew",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::renew_integration(call))),
            description: Some(Description {
                id: "integrations.renew",
                summary: "Refreshes the tokens of an account now.",
                members: operator::describe_renewed_integration,
            }),
        }],
    },
    Route {
        path: "/admin/jobs",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_jobs(call))),
            description: Some(Description {
                id: "jobs.list",
                summary: "Jobs of all tenants, the newest first.",
                members: operator::describe_jobs,
            }),
        }],
    },
    Route {
        path: "/admin/jobs/{job_id}",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_job(call))),
                description: Some(Description { id: "jobs.get", summary: "One job.", members: operator::describe_job }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::cancel_job(call))),
                description: Some(Description {
                    id: "jobs.cancel",
                    summary: "Cancels a job.",
                    members: operator::describe_cancelled_job,
                }),
            },
        ],
    },
    Route {
        path: "/admin/webhooks",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_webhooks(call))),
            description: Some(Description {
                id: "webhooks.list",
                summary: "Webhooks of all tenants, the newest first.",
                members: operator::describe_webhooks,
            }),
        }],
    },
    Route {
        path: "/admin/webhooks/{webhook_id}/resend",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::resend_webhook(call))),
            description: Some(Description {
                id: "webhooks.resend",
                summary: "Sends a webhook now.",
                members: operator::describe_resent_webhook,
            }),
        }],
    },
    Route {
        path: "/admin/calls",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_calls(call))),
            description: Some(Description {
                id: "calls.list",
                summary: "Records of calls, the newest first.",
                members: operator::describe_calls,
            }),
        }],
    },
    Route {
        path: "/admin/calls/{request_id}",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_call(call))),
            description: Some(Description {
                id: "calls.get",
                summary: "The record of one call.",
                members: operator::describe_call,
            }),
        }],
    },
    Route {
        path: "/admin/usage",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_usage(call))),
            description: Some(Description {
                id: "usage",
                summary: "What tenants have called on each day, the newest day first.",
                members: operator::describe_usage,
            }),
        }],
    },
    Route {
        path: "/admin/tenants",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_tenants(call))),
            description: Some(Description {
                id: "tenants.list",
                summary: "Tenants, with what they have.",
                members: operator::describe_tenants,
            }),
        }],
    },
    Route {
        path: "/admin/tenants/{tenant}/oauth_clients",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_oauth_clients(call))),
            description: Some(Description {
                id: "oauth_clients.list",
                summary: "The OAuth clients of a tenant.",
                members: operator::describe_oauth_clients,
            }),
        }],
    },
    Route {
        path: "/admin/tenants/{tenant}/oauth_clients/{oauth_client}",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_oauth_client(call))),
                description: Some(Description {
                    id: "oauth_clients.get",
                    summary: "One OAuth client of a tenant.",
                    members: operator::describe_oauth_client,
                }),
            },
            Endpoint {
                method: Method::PUT,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::set_oauth_client(call))),
                description: Some(Description {
                    id: "oauth_clients.set",
                    summary: "Sets the OAuth client of a tenant.",
                    members: operator::describe_set_oauth_client,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::delete_oauth_client(call))),
                description: Some(Description {
                    id: "oauth_clients.delete",
                    summary: "Deletes the OAuth client of a tenant.",
                    members: operator::describe_deleted_oauth_client,
                }),
            },
        ],
    },
];
