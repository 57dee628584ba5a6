//! The operator's routes of triggers of all tenants, of inboxes, and of requests of services.

use hyper::Method;

use crate::admin;
use crate::openapi::triggers as described;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use auth::Scope::Admin;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/admin/inboxes",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::Read,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_inboxes(call))),
                description: Some(Description {
                    id: "inboxes.list",
                    summary: "The addresses at which services notify the gateway about whole applications.",
                    members: described::describe_inboxes,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::create_inbox(call, caller))),
                description: Some(Description {
                    id: "inboxes.create",
                    summary: "Makes an inbox, with an address for the service.",
                    members: described::describe_new_inbox,
                }),
            },
        ],
    },
    Route {
        path: "/admin/inboxes/{inbox_id}",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_inbox(call))),
                description: Some(Description {
                    id: "inboxes.get",
                    summary: "Shows an inbox.",
                    members: described::describe_inbox,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::delete_inbox(call))),
                description: Some(Description {
                    id: "inboxes.delete",
                    summary: "Deletes an inbox. Its address is 404 from then on.",
                    members: described::describe_deleted_inbox,
                }),
            },
        ],
    },
    Route {
        path: "/admin/inboxes/{inbox_id}/secrets",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, caller| Box::pin(admin::add_secret(call, caller))),
            description: Some(Description {
                id: "inboxes.secrets.add",
                summary: "Gives an inbox a secret of the service.",
                members: described::describe_new_inbox_secret,
            }),
        }],
    },
    Route {
        path: "/admin/inboxes/{inbox_id}/secrets/{inbox_secret_id}",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::DELETE,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::delete_secret(call))),
            description: Some(Description {
                id: "inboxes.secrets.delete",
                summary: "Takes a secret from an inbox.",
                members: described::describe_deleted_inbox_secret,
            }),
        }],
    },
    Route {
        path: "/admin/triggers",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_triggers(call))),
            description: Some(Description {
                id: "triggers.list",
                summary: "Triggers of all tenants, the newest first.",
                members: described::describe_any_triggers,
            }),
        }],
    },
    Route {
        path: "/admin/triggers/{trigger_id}",
        family: Family::Admin,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::get_trigger(call))),
                description: Some(Description {
                    id: "triggers.get",
                    summary: "Shows a trigger of any tenant.",
                    members: described::describe_trigger,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::remove_trigger(call))),
                description: Some(Description {
                    id: "triggers.delete",
                    summary: "Deletes a trigger of any tenant, with its events.",
                    members: described::describe_delete,
                }),
            },
        ],
    },
    Route {
        path: "/admin/triggers/{trigger_id}/resubscribe",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::resubscribe_trigger(call))),
            description: Some(Description {
                id: "triggers.resubscribe",
                summary: "Makes the subscription of a trigger anew, and reads.",
                members: described::describe_resubscribe,
            }),
        }],
    },
    Route {
        path: "/admin/hook-requests",
        family: Family::Admin,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Admin, |call, _| Box::pin(admin::list_hook_requests(call))),
            description: Some(Description {
                id: "hook_requests",
                summary: "Requests of services to the gateway, the newest first, without their bodies.",
                members: described::describe_hook_requests,
            }),
        }],
    },
];
