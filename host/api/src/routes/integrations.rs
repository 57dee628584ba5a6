//! The routes of integrations.

use crate::openapi::lifecycle;
use auth::Scope::Integrate;
use endpoint::route::Handler::{Public, Scoped};
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Query, Route};
use rest::integrations;

/// The path at which an application connects accounts.
pub(crate) const INTEGRATIONS: &str = "/connectors/{connector}/integrations";

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: INTEGRATIONS,
        family: Family::Integrations,
        methods: &[Endpoint::post(Scoped(Integrate, |call, caller| {
            Box::pin(integrations::begin_integration(call, caller))
        }))
        .described(
            "begin",
            "Connects an account: begins an authorization, or stores the user's key.",
            By(lifecycle::describe_begin),
        )],
    },
    Route {
        path: "/connectors/{connector}/authorizations/{authorization_id}",
        family: Family::Integrations,
        methods: &[Endpoint::get(Scoped(Integrate, |call, caller| {
            Box::pin(integrations::get_authorization(call, caller))
        }))
        .described(
            "authorization",
            "The progress of an authorization that was begun with a device code.",
            Record("The progress.", "AuthorizationProgress"),
        )],
    },
    Route {
        path: "/connectors/{connector}/integration-exists",
        family: Family::Integrations,
        methods: &[Endpoint::get(Scoped(Integrate, |call, caller| {
            Box::pin(integrations::integration_exists(call, caller))
        }))
        .described(
            "exists",
            "Says if the caller's user has connected an account.",
            By(lifecycle::describe_exists),
        )],
    },
    Route {
        path: "/connectors/{connector}/auth-schema",
        family: Family::Integrations,
        methods: &[Endpoint::get(Scoped(Integrate, |call, _| Box::pin(integrations::get_auth_schema(call))))
            .described(
                "auth_schema",
                "How users of the connector authenticate, and the schema of the body of POST …/integrations.",
                Record("The auth types, each with the JSON Schema of its body.", "AuthSchema"),
            )],
    },
    Route {
        path: "/connectors/{connector}/success-authorize-callback",
        family: Family::Integrations,
        methods: &[
            // A program that looks ahead with HEAD must not use up the `state`.
            Endpoint::get(Public(|call| Box::pin(integrations::complete_authorization(call))))
                .without_head()
                .query(Query::Any)
                .described(
                    "callback",
                    "The provider sends the user's browser back to this address.",
                    By(lifecycle::describe_callback),
                ),
        ],
    },
    Route {
        path: "/connectors/{connector}/integrations/{user_identifier}",
        family: Family::Integrations,
        methods: &[
            Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(integrations::get_integration(call, caller))))
                .described("get", "One integration.", By(lifecycle::describe_integration)),
            Endpoint::post(Scoped(Integrate, |call, caller| Box::pin(integrations::select_integration(call, caller))))
                .described(
                    "select",
                    "Selects it: operations run on it when the caller names no other.",
                    By(lifecycle::describe_integration),
                ),
            Endpoint::patch(Scoped(Integrate, |call, caller| Box::pin(integrations::change_integration(call, caller))))
                .described("change", "Sets its labels.", By(lifecycle::describe_change)),
            Endpoint::delete(Scoped(Integrate, |call, caller| {
                Box::pin(integrations::remove_integration(call, caller))
            }))
            .described(
                "remove",
                "Revokes the access at the service if possible, and deletes the integration in any case.",
                Record("The integration is deleted.", "IntegrationDeleted"),
            ),
        ],
    },
    Route {
        path: "/connectors/{connector}/integrations/{user_identifier}/confirm",
        family: Family::Integrations,
        methods: &[Endpoint::post(Scoped(Integrate, |call, caller| {
            Box::pin(integrations::confirm_integration(call, caller))
        }))
        .described(
            "confirm",
            "Confirms a grant that was begun with `confirm`, so that the account is used.",
            By(lifecycle::describe_confirm),
        )],
    },
    Route {
        path: "/integrations",
        family: Family::Integrations,
        methods: &[Endpoint::get(Scoped(Integrate, |call, caller| {
            Box::pin(integrations::list_integrations(call, caller))
        }))
        .list::<integrations::OwnIntegrations>()
        .described(
            "list",
            "The accounts that the caller's user has connected.",
            Record("A page of integrations, in the order of connectors and user identifiers.", "IntegrationPage"),
        )],
    },
];
