//! The operator's routes of triggers of all tenants, of inboxes, and of requests of services.

use crate::openapi::triggers as described;
use auth::Scope::Admin;
use endpoint::route::Handler::Scoped;
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Route};
use operators::admin;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/admin/inboxes",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_inboxes(call)))).page().described(
                "inboxes.list",
                "The addresses at which services notify the gateway about whole applications.",
                Record("Inboxes, in the order of their ids, without their secrets.", "InboxPage"),
            ),
            Endpoint::post(Scoped(Admin, |call, caller| Box::pin(admin::create_inbox(call, caller)))).described(
                "inboxes.create",
                "Makes an inbox, with an address for the service.",
                By(described::describe_new_inbox),
            ),
        ],
    },
    Route {
        path: "/admin/inboxes/{inbox_id}",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_inbox(call)))).described(
                "inboxes.get",
                "Shows an inbox.",
                Record("The inbox, without its secrets.", "Inbox"),
            ),
            Endpoint::delete(Scoped(Admin, |call, _| Box::pin(admin::delete_inbox(call)))).described(
                "inboxes.delete",
                "Deletes an inbox. Its address is 404 from then on.",
                Record("The inbox is deleted, with its secrets.", "InboxDeleted"),
            ),
        ],
    },
    Route {
        path: "/admin/inboxes/{inbox_id}/secrets",
        family: Family::Admin,
        methods: &[Endpoint::post(Scoped(Admin, |call, caller| Box::pin(admin::add_secret(call, caller)))).described(
            "inboxes.secrets.add",
            "Gives an inbox a secret of the service.",
            By(described::describe_new_inbox_secret),
        )],
    },
    Route {
        path: "/admin/inboxes/{inbox_id}/secrets/{inbox_secret_id}",
        family: Family::Admin,
        methods: &[Endpoint::delete(Scoped(Admin, |call, _| Box::pin(admin::delete_secret(call)))).described(
            "inboxes.secrets.delete",
            "Takes a secret from an inbox.",
            Record("Requests that are signed with it are refused from now on.", "InboxSecretDeleted"),
        )],
    },
    Route {
        path: "/admin/triggers",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_triggers(call))))
            .list::<admin::AnyTriggers>()
            .described("triggers.list", "Triggers of all tenants, the newest first.", By(described::describe_list))],
    },
    Route {
        path: "/admin/triggers/{trigger_id}",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::get_trigger(call)))).described(
                "triggers.get",
                "Shows a trigger of any tenant.",
                By(described::describe_trigger),
            ),
            Endpoint::delete(Scoped(Admin, |call, _| Box::pin(admin::remove_trigger(call)))).described(
                "triggers.delete",
                "Deletes a trigger of any tenant, with its events.",
                By(described::describe_delete),
            ),
        ],
    },
    Route {
        path: "/admin/triggers/{trigger_id}/resubscribe",
        family: Family::Admin,
        methods: &[Endpoint::post(Scoped(Admin, |call, _| Box::pin(admin::resubscribe_trigger(call)))).described(
            "triggers.resubscribe",
            "Makes the subscription of a trigger anew, and reads.",
            By(described::describe_resubscribe),
        )],
    },
    Route {
        path: "/admin/hook-requests",
        family: Family::Admin,
        methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(admin::list_hook_requests(call))))
            .list::<admin::HookRequests>()
            .described(
                "hook_requests",
                "Requests of services to the gateway, the newest first, without their bodies.",
                Record("Requests of services, the newest first. A body is never kept.", "HookRequestPage"),
            )],
    },
];
