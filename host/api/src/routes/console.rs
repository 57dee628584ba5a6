//! The routes of the console: its page, its files, and sessions. They belong to the family of the
//! operator, so that they move to `admin_listen` with the routes that the console calls.

use crate::openapi::console as described;
use auth::Scope::Admin;
use endpoint::route::Handler::{Public, Scoped};
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Query, Route};
use operators::console;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/console",
        family: Family::Admin,
        methods: &[Endpoint::get(Public(|call| Box::pin(console::get_page(call)))).query(Query::Any)],
    },
    Route {
        path: "/console/session",
        family: Family::Admin,
        methods: &[
            Endpoint::get(Scoped(Admin, |call, caller| Box::pin(console::get_session(call, caller)))).described(
                "console.session",
                "The session of an operator at the console.",
                Record("The session of the cookie.", "ConsoleSession"),
            ),
            Endpoint::post(Scoped(Admin, |call, caller| Box::pin(console::sign_in(call, caller)))).described(
                "console.sign_in",
                "Signs in to the console with an API key.",
                By(described::describe_sign_in),
            ),
            Endpoint::delete(Scoped(Admin, |call, _| Box::pin(console::sign_out(call)))).described(
                "console.sign_out",
                "Signs out of the console.",
                Record("The session of the cookie has ended.", "ConsoleSignedOut"),
            ),
        ],
    },
    Route {
        path: "/console/sign-in",
        family: Family::Admin,
        methods: &[Endpoint::get(Public(|call| Box::pin(console::get_ways(call)))).described(
            "console.ways",
            "The ways to sign in to the console.",
            By(described::describe_ways),
        )],
    },
    Route {
        path: "/console/oidc",
        family: Family::Admin,
        methods: &[Endpoint::get(Public(|call| Box::pin(console::begin_oidc(call)))).without_head()],
    },
    Route {
        path: "/console/oidc/callback",
        family: Family::Admin,
        methods: &[Endpoint::get(Public(|call| Box::pin(console::finish_oidc(call)))).without_head().query(Query::Any)],
    },
    Route {
        path: "/console/{file}",
        family: Family::Admin,
        methods: &[Endpoint::get(Public(|call| Box::pin(console::get_file(call)))).query(Query::Any)],
    },
];
