//! The routes of links to the page on which an end user connects accounts, and of that page.

use crate::openapi::connect as described;
use auth::Scope::Integrate;
use endpoint::route::Handler::{Public, Scoped};
use endpoint::route::Members::{By, Record};
use endpoint::route::{Endpoint, Family, Query, Route};
use rest::connect;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/connect-links",
        family: Family::Integrations,
        methods: &[Endpoint::post(Scoped(Integrate, |call, caller| Box::pin(connect::create_link(call, caller))))
            .described(
                "links.create",
                "Makes a link to a page on which the caller's user connects accounts.",
                By(described::describe_create),
            )],
    },
    Route {
        path: "/connect-links/{link_id}",
        family: Family::Integrations,
        methods: &[
            Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(connect::get_link(call, caller)))).described(
                "links.get",
                "Says which accounts were connected by a link.",
                Record("The link.", "ConnectLink"),
            ),
            Endpoint::delete(Scoped(Integrate, |call, caller| Box::pin(connect::delete_link(call, caller)))).described(
                "links.delete",
                "Ends a link. Accounts that it has connected stay.",
                Record("The link has ended, now or before.", "ConnectLinkDeleted"),
            ),
        ],
    },
    Route {
        path: "/connect/page.css",
        family: Family::System,
        methods: &[Endpoint::get(Public(|call| Box::pin(connect::get_style(call)))).query(Query::Any)],
    },
    Route {
        path: "/connect/{token}",
        family: Family::Integrations,
        methods: &[
            Endpoint::get(Public(|call| Box::pin(connect::open_page(call)))).query(Query::Any),
            Endpoint::post(Public(|call| Box::pin(connect::send_form(call)))).query(Query::Any),
        ],
    },
];
