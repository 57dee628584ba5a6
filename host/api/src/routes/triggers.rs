//! The routes of triggers.

use hyper::Method;

use crate::openapi::triggers as described;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use crate::triggers;
use auth::Scope::{Integrate, Operate};

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/trigger-types",
        family: Family::Triggers,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Operate, |call, caller| Box::pin(triggers::list_types(call, caller))),
            description: Some(Description {
                id: "types",
                summary: "The types of events that connectors and the gateway offer.",
                members: described::describe_types,
            }),
        }],
    },
    Route {
        path: "/triggers",
        family: Family::Triggers,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::Read,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::list_triggers(call, caller))),
                description: Some(Description {
                    id: "list",
                    summary: "The triggers of the caller, the newest first.",
                    members: described::describe_list,
                }),
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::create_trigger(call, caller))),
                description: Some(Description {
                    id: "create",
                    summary: "Makes a trigger: events of an account reach the caller.",
                    members: described::describe_create,
                }),
            },
        ],
    },
    Route {
        path: "/triggers/{trigger_id}",
        family: Family::Triggers,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::get_trigger(call, caller))),
                description: Some(Description {
                    id: "get",
                    summary: "Shows a trigger.",
                    members: described::describe_trigger,
                }),
            },
            Endpoint {
                method: Method::PATCH,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::change_trigger(call, caller))),
                description: Some(Description {
                    id: "change",
                    summary: "Changes a trigger. It continues where it is.",
                    members: described::describe_change,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::remove_trigger(call, caller))),
                description: Some(Description {
                    id: "delete",
                    summary: "Deletes a trigger with its events.",
                    members: described::describe_delete,
                }),
            },
        ],
    },
    Route {
        path: "/triggers/{trigger_id}/test",
        family: Family::Triggers,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::test_trigger(call, caller))),
            description: Some(Description {
                id: "test",
                summary: "Delivers the example of the type.",
                members: described::describe_test,
            }),
        }],
    },
    Route {
        path: "/triggers/{trigger_id}/read",
        family: Family::Triggers,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::read_trigger(call, caller))),
            description: Some(Description {
                id: "read",
                summary: "Looks for events at the service now.",
                members: described::describe_read,
            }),
        }],
    },
    Route {
        path: "/triggers/{trigger_id}/events",
        family: Family::Triggers,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Read,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::list_events(call, caller))),
            description: Some(Description {
                id: "events.list",
                summary: "Events of a trigger, the oldest first.",
                members: described::describe_events,
            }),
        }],
    },
    Route {
        path: "/triggers/{trigger_id}/events/{event_id}",
        family: Family::Triggers,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::get_event(call, caller))),
            description: Some(Description {
                id: "events.get",
                summary: "Shows an event with its webhooks.",
                members: described::describe_event,
            }),
        }],
    },
    Route {
        path: "/triggers/{trigger_id}/replay",
        family: Family::Triggers,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(triggers::replay_events(call, caller))),
            description: Some(Description {
                id: "replay",
                summary: "Delivers events once more, with their ids.",
                members: described::describe_replay,
            }),
        }],
    },
];
