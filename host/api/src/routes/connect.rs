//! The routes of links to the page on which an end user connects accounts, and of that page.

use hyper::Method;

use crate::connect;
use crate::openapi::connect as described;
use crate::route::{Description, Endpoint, Family, Handler, Query, Route};
use auth::Scope::Integrate;

pub(super) static ROUTES: &[Route] = &[
    Route {
        path: "/connect-links",
        family: Family::Integrations,
        methods: &[Endpoint {
            method: Method::POST,
            takes_head: false,
            query: Query::None,
            handler: Handler::Scoped(Integrate, |call, caller| Box::pin(connect::create_link(call, caller))),
            description: Some(Description {
                id: "links.create",
                summary: "Makes a link to a page on which the caller's user connects accounts.",
                members: described::describe_create,
            }),
        }],
    },
    Route {
        path: "/connect-links/{link_id}",
        family: Family::Integrations,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(connect::get_link(call, caller))),
                description: Some(Description {
                    id: "links.get",
                    summary: "Says which accounts were connected by a link.",
                    members: described::describe_link,
                }),
            },
            Endpoint {
                method: Method::DELETE,
                takes_head: false,
                query: Query::None,
                handler: Handler::Scoped(Integrate, |call, caller| Box::pin(connect::delete_link(call, caller))),
                description: Some(Description {
                    id: "links.delete",
                    summary: "Ends a link. Accounts that it has connected stay.",
                    members: described::describe_delete,
                }),
            },
        ],
    },
    Route {
        path: "/connect/page.css",
        family: Family::System,
        methods: &[Endpoint {
            method: Method::GET,
            takes_head: true,
            query: Query::Any,
            handler: Handler::Public(|call| Box::pin(connect::get_style(call))),
            description: None,
        }],
    },
    Route {
        path: "/connect/{token}",
        family: Family::Integrations,
        methods: &[
            Endpoint {
                method: Method::GET,
                takes_head: true,
                query: Query::Any,
                handler: Handler::Public(|call| Box::pin(connect::open_page(call))),
                description: None,
            },
            Endpoint {
                method: Method::POST,
                takes_head: false,
                query: Query::Any,
                handler: Handler::Public(|call| Box::pin(connect::send_form(call))),
                description: None,
            },
        ],
    },
];
