//! The routes of triggers.

use crate::openapi::triggers as described;
use auth::Scope::{Integrate, Operate};
use endpoint::route::Handler::Scoped;
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Query, Route};
use rest::triggers;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/trigger-types",
        family: Family::Triggers,
        methods: &[Endpoint::get(Scoped(Operate, |call, caller| Box::pin(triggers::list_types(call, caller))))
            .list::<triggers::Types>()
            .described(
                "types",
                "The types of events that connectors and the gateway offer.",
                Record("Types of events, in the order of their connectors and names.", "TriggerTypePage"),
            )],
    },
    Route {
        path: "/triggers",
        family: Family::Triggers,
        methods: &[
            Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(triggers::list_triggers(call, caller))))
                .list::<triggers::OwnTriggers>()
                .described("list", "The triggers of the caller, the newest first.", By(described::describe_list)),
            Endpoint::post(Scoped(Integrate, |call, caller| Box::pin(triggers::create_trigger(call, caller))))
                .described(
                    "create",
                    "Makes a trigger: events of an account reach the caller.",
                    By(described::describe_create),
                ),
        ],
    },
    Route {
        path: "/triggers/{trigger_id}",
        family: Family::Triggers,
        methods: &[
            Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(triggers::get_trigger(call, caller)))).described(
                "get",
                "Shows a trigger.",
                By(described::describe_trigger),
            ),
            Endpoint::patch(Scoped(Integrate, |call, caller| Box::pin(triggers::change_trigger(call, caller))))
                .described("change", "Changes a trigger. It continues where it is.", By(described::describe_change)),
            Endpoint::delete(Scoped(Integrate, |call, caller| Box::pin(triggers::remove_trigger(call, caller))))
                .described("delete", "Deletes a trigger with its events.", By(described::describe_delete)),
        ],
    },
    Route {
        path: "/triggers/{trigger_id}/test",
        family: Family::Triggers,
        methods: &[Endpoint::post(Scoped(Integrate, |call, caller| Box::pin(triggers::test_trigger(call, caller))))
            .described("test", "Delivers the example of the type.", By(described::describe_test))],
    },
    Route {
        path: "/triggers/{trigger_id}/read",
        family: Family::Triggers,
        methods: &[Endpoint::post(Scoped(Integrate, |call, caller| Box::pin(triggers::read_trigger(call, caller))))
            .described("read", "Looks for events at the service now.", By(described::describe_read))],
    },
    Route {
        path: "/triggers/{trigger_id}/events",
        family: Family::Triggers,
        methods: &[Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(triggers::list_events(call, caller))))
            .query(Query::Read)
            .described("events.list", "Events of a trigger, the oldest first.", By(described::describe_events))],
    },
    Route {
        path: "/triggers/{trigger_id}/events/{event_id}",
        family: Family::Triggers,
        methods: &[Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(triggers::get_event(call, caller))))
            .described(
                "events.get",
                "Shows an event with its webhooks.",
                Record("The event, with its webhooks and their attempts.", "TriggerEvent"),
            )],
    },
    Route {
        path: "/triggers/{trigger_id}/replay",
        family: Family::Triggers,
        methods: &[Endpoint::post(Scoped(Integrate, |call, caller| Box::pin(triggers::replay_events(call, caller))))
            .described("replay", "Delivers events once more, with their ids.", By(described::describe_replay))],
    },
];
