//! The table of routes: every path of the API, its scope, the function that answers, and its
//! description.
//!
//! - [`integrations`]: accounts that users connect
//! - [`connect`]: links to the page on which an end user connects accounts, and that page
//! - [`operations`]: operations, jobs and webhook secrets
//! - [`hooks`]: notifications of services
//! - [`proxy`]: requests to the services of connectors, around their operations
//! - [`mcp`]: operations as tools of agents
//! - [`tool_sets`]: the operations that agents get at one address
//! - [`agent_sessions`]: bearer tokens of agents
//! - [`triggers`]: events of services that callers want to know of
//! - [`admin`]: changes of connectors
//! - [`operator`]: keys, integrations and jobs of all tenants, and the audit
//! - [`events`]: triggers of all tenants, inboxes, and the requests of services
//! - [`console`]: the console of operators
//! - [`system`]: the gateway itself

mod admin;
mod agent_sessions;
mod connect;
mod console;
mod events;
mod hooks;
mod integrations;
mod mcp;
mod operations;
mod operator;
mod proxy;
mod system;
mod tool_sets;
mod triggers;

use std::sync::LazyLock;

pub(super) use self::integrations::INTEGRATIONS;

use endpoint::route::{PathArguments, Route};

/// The first path that matches a request's path answers it. So the pattern of operations comes
/// after the paths of the same length.
pub(super) static ROUTES: &[&[Route]] = &[
    connect::ROUTES,
    integrations::ROUTES,
    operations::ROUTES,
    hooks::ROUTES,
    proxy::ROUTES,
    mcp::ROUTES,
    tool_sets::ROUTES,
    agent_sessions::ROUTES,
    triggers::ROUTES,
    system::ROUTES,
    admin::ROUTES,
    operator::ROUTES,
    events::ROUTES,
    console::ROUTES,
];

/// The most segments that a path of the table has.
const MAX_SEGMENTS: usize = 6;

/// The pattern of the paths that have any number of further segments.
const PROXY: &str = "/proxy/{connector}/{upstream}/{path}";

/// The table with each pattern cut into segments once.
static SEGMENTED: LazyLock<Vec<(Vec<&str>, &Route)>> = LazyLock::new(|| {
    ROUTES.iter().copied().flatten().map(|route| (route.path.split('/').skip(1).collect(), route)).collect()
});

/// The route of a path, and the path's arguments.
pub(super) fn find_route(path: &str) -> Option<(&'static Route, PathArguments<'_>)> {
    if let Some(below) = path.strip_prefix("/proxy/") {
        return find_proxy(below);
    }
    let mut segments = [""; MAX_SEGMENTS];
    let mut count = 0;
    for segment in path.strip_prefix('/')?.split('/') {
        *segments.get_mut(count)? = segment;
        count += 1;
    }
    let segments = segments.get(..count)?;
    SEGMENTED.iter().find_map(|(pattern, route)| Some((*route, arguments_of(pattern, segments)?)))
}

/// The route of the paths below `/proxy/`. What follows the upstream is not cut into segments.
fn find_proxy(path: &str) -> Option<(&'static Route, PathArguments<'_>)> {
    let (connector, rest) = path.split_once('/')?;
    let upstream = rest.split_once('/').map_or(rest, |(upstream, _)| upstream);
    let route = ROUTES.iter().copied().flatten().find(|route| route.path == PROXY)?;
    let are_named = !connector.is_empty() && !upstream.is_empty();
    are_named.then_some((route, PathArguments { connector, upstream, ..PathArguments::default() }))
}

/// The arguments of a path, or `None` if the pattern does not match it. An argument is never empty.
fn arguments_of<'a>(pattern: &[&str], segments: &[&'a str]) -> Option<PathArguments<'a>> {
    if pattern.len() != segments.len() {
        return None;
    }
    let mut arguments = PathArguments::default();
    for (expected, segment) in pattern.iter().zip(segments) {
        if expected.starts_with('{') {
            *arguments.field(expected)? = Some(*segment).filter(|segment| !segment.is_empty())?;
        } else if expected != segment {
            return None;
        }
    }
    Some(arguments)
}

#[cfg(test)]
mod tests;
