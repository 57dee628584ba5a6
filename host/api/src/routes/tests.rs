//! Unit tests of the table of routes.

use hyper::Method;

use super::*;
use endpoint::path::normalized;

#[test]
fn every_path_of_the_table_leads_to_its_own_route() {
    for route in ROUTES.iter().copied().flatten() {
        let (found, _) = find_route(route.path).unwrap_or_else(|| panic!("{} is never found", route.path));
        assert!(std::ptr::eq(found, route), "{} leads to {}", route.path, found.path);
    }
}

#[test]
fn a_path_gives_its_arguments() {
    let (route, arguments) = find_route("/connectors/calendar/integrations/ann%40example.com").unwrap();
    assert_eq!(route.allowed(), "GET, HEAD, POST, PATCH, DELETE");
    assert_eq!((arguments.connector, arguments.user_identifier), ("calendar", "ann%40example.com"));
    assert_eq!(find_route("/connectors/calendar/events_get").unwrap().1.operation, "events_get");
}

#[test]
fn other_paths_lead_nowhere() {
    for path in ["", "//", "connectors", "/connectors/", "/connectors/a/", "/connectors/a/b/c", "/a/b/c/d/e"] {
        assert!(find_route(path).is_none(), "{path}");
    }
}

#[test]
fn what_follows_an_upstream_may_have_any_form() {
    for path in ["/proxy/mail/api", "/proxy/mail/api/", "/proxy/mail/api/a/b/c/d/e%2Ff//g"] {
        let (route, arguments) = find_route(path).unwrap();
        assert_eq!((route.path, arguments.connector, arguments.upstream), (PROXY, "mail", "api"), "{path}");
    }
    for path in ["/proxy", "/proxy/", "/proxy/mail", "/proxy/mail/", "/proxy//api/x"] {
        assert!(find_route(path).is_none(), "{path}");
    }
}

#[test]
fn head_is_taken_where_get_changes_nothing() {
    let takes_head = |path| find_route(path).unwrap().0.endpoint(&Method::HEAD).is_some();
    assert!(takes_head("/connectors"));
    assert!(!takes_head("/connectors/a/success-authorize-callback"));
    assert!(!takes_head("/connectors/a/b"));
}

#[test]
fn a_name_is_found_in_any_encoding() {
    let path = normalized("/connectors/wood%5Fwork/search%5Fissues");
    let (_, arguments) = find_route(&path).unwrap();
    assert_eq!((arguments.connector, arguments.operation), ("wood_work", "search_issues"));
}
