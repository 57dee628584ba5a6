//! The description of the API says how callers read further pages, by one rule for all connectors.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::catalogue::{connectors, operations, text};
use support::description::inlined;
use support::{Dialect, Gateway, Reply, Setup, Upstream, module};
use url::Url;

use crate::connectors::{Connected, google_claims, microsoft_user};

/// The operations of the product's connectors that have pages, with their `x-pagination`.
fn expected() -> BTreeMap<String, Value> {
    let cursor =
        |items: &str, next: &str, input: &str| json!({"items": items, "input": input, "style": "cursor", "next": next});
    let number = |items: &str, input: &str| json!({"items": items, "input": input, "style": "page_number", "first": 1});
    let google = |items: &str| cursor(items, "/nextPageToken", "/query/pageToken");
    let google_field = |items: &str| cursor(items, "/nextPageToken", "/page_token");
    let slack = |items: &str, input: &str| cursor(items, "/response_metadata/next_cursor", input);
    let x = |input: &str| cursor("/data", "/meta/next_token", input);
    let listed = [
        ("code_hosting/list_issues", cursor("/items", "/page_info/next_cursor", "/page_cursor")),
        ("code_hosting/list_issue_comments", number("/items", "/page")),
        ("code_hosting/advanced_search", number("/items", "/page")),
        ("code_hosting/list_commits", number("", "/page")),
        ("code_hosting/list_repositories", number("", "/query/page")),
        ("code_hosting/list_pull_requests", number("", "/query/page")),
        ("microblog/get_user_mentions", x("/pagination_token")),
        ("microblog/get_user_tweets", x("/pagination_token")),
        ("microblog/tweet_counts", x("/next_token")),
        ("microblog/tweet_search", x("/next_token")),
        ("preprint_archive/search_papers", cursor("/papers", "/next_start", "/start")),
        ("team_chat/conversations_list", slack("/channels", "/query/cursor")),
        ("team_chat/conversations_members", slack("/members", "/cursor")),
        ("team_chat/users_conversations", slack("/channels", "/query/cursor")),
        ("team_chat/conversations_history", slack("/messages", "/cursor")),
        ("team_chat/conversations_replies", slack("/messages", "/cursor")),
        ("team_chat/users_list", slack("/members", "/query/cursor")),
        ("workspace_calendar/calendarlist_list", google("/items")),
        ("workspace_calendar/events_list", google("/items")),
        ("workspace_calendar/events_instances", google("/items")),
        ("workspace_chat/memberships_list", google("/memberships")),
        ("workspace_chat/messages_list", google("/messages")),
        ("workspace_chat/spaces_list", google("/spaces")),
        ("workspace_docs/list_comments", google_field("/comments")),
        ("workspace_docs/list_documents", google_field("/files")),
        ("workspace_mail/list_drafts", google_field("/drafts")),
        ("workspace_mail/list_threads", google_field("/threads")),
        ("workspace_mail/messages_list", google("/messages")),
        ("workspace_meet/conference_records_list", google("/conferenceRecords")),
        ("workspace_meet/participants_list", google("/participants")),
        ("workspace_meet/participant_sessions_list", google("/participantSessions")),
        ("workspace_meet/recordings_list", google("/recordings")),
        ("workspace_meet/transcripts_list", google("/transcripts")),
        ("workspace_meet/transcript_entries_list", google("/transcriptEntries")),
        ("workspace_user_management/list_groups", google("/groups")),
        ("workspace_user_management/list_group_members", google("/members")),
        ("workspace_user_management/list_users", google("/users")),
    ];
    listed.into_iter().map(|(operation, rule)| (operation.to_owned(), rule)).chain(microsoft()).collect()
}

/// The lists of Microsoft Graph: the operations of the catalogue that take `$skiptoken`.
fn microsoft() -> Vec<(String, Value)> {
    let mut rules = Vec::new();
    for connector in connectors() {
        let id = text(&connector, "id");
        for operation in operations(&connector) {
            let names = operation["fields"]["query"]["names"].as_array();
            let takes_token = names.is_some_and(|names| names.iter().any(|name| name == "$skiptoken"));
            // It reads all pages by itself, and answers with one site.
            if takes_token && text(operation, "path") != "get_site_id_by_name" {
                let parameter = match (id, text(operation, "path")) {
                    // Outlook counts items.
                    ("office_calendar" | "office_mail", _) => "$skip",
                    (_, "track_changes") => "token",
                    _ => "$skiptoken",
                };
                let rule = json!({
                    "items": "/value", "input": format!("/query/{parameter}"), "style": "link",
                    "next": "/@odata.nextLink", "parameter": parameter,
                });
                rules.push((format!("{id}/{}", text(operation, "path")), rule));
            }
        }
    }
    rules
}

/// The `x-pagination` of every operation that has it.
fn described(gateway: &Gateway) -> BTreeMap<String, Value> {
    let document = gateway.anonymous().get("/openapi.json").ok();
    let paths = document["paths"].as_object().unwrap().iter();
    let rules = paths.filter_map(|(path, item)| {
        let rule = item["post"].get("x-pagination")?;
        Some((path.strip_prefix("/connectors/")?.to_owned(), rule.clone()))
    });
    rules.collect()
}

#[test]
fn the_description_says_how_the_pages_of_shipped_operations_are_read() {
    let gateway = Setup::new().every_shipped().start();
    assert_eq!(described(&gateway), expected());
    let document = gateway.anonymous().get("/openapi.json").ok();
    let description = document["info"]["description"].as_str().unwrap();
    for word in ["x-pagination", "`cursor`", "`link`", "`page_number`", "`offset`", "`last_item`"] {
        assert!(description.contains(word), "{word} in: {description}");
    }
}

#[test]
fn the_field_for_the_next_page_is_in_the_schema_of_the_request() {
    let gateway = Setup::new().every_shipped().start();
    let document = inlined(gateway.anonymous().get("/openapi.json").ok());
    for (operation, rule) in described(&gateway) {
        let body = &document["paths"][format!("/connectors/{operation}")]["post"]["requestBody"];
        let schema = &body["content"]["application/json"]["schema"];
        let pointer = rule["input"].as_str().unwrap().replace('/', "/properties/");
        assert!(schema.pointer(&pointer).is_some(), "{operation}: {pointer} in {schema}");
    }
}

/// All items of an operation, read as a caller does that knows only the description of the API.
fn read_all(gateway: &Gateway, operation: &str, mut input: Value) -> Vec<Value> {
    let rule = described(gateway).remove(operation).expect("the operation has pages");
    let text = |name: &str| rule[name].as_str().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    let first = rule["first"].as_u64().unwrap_or_default();
    for number in first..first + 10 {
        let page = gateway.call(operation, input.clone()).ok();
        let items = page.pointer(&text("items")).and_then(Value::as_array).expect("the items").clone();
        let next = match text("style").as_str() {
            "cursor" => page.pointer(&text("next")).cloned().filter(|next| !next.is_null() && *next != ""),
            "link" => page.pointer(&text("next")).and_then(Value::as_str).map(|url| {
                let url = Url::parse(url).unwrap();
                let found = url.query_pairs().find(|(name, _)| *name == text("parameter"));
                found.expect("the parameter of the next page").1.into()
            }),
            "page_number" => (!items.is_empty()).then(|| (number + 1).into()),
            "last_item" => {
                let has_more = rule.get("more").is_none_or(|_| page.pointer(&text("more")) == Some(&json!(true)));
                items.last().filter(|_| has_more).map(|last| last.pointer(&text("next")).expect("the value").clone())
            }
            other => panic!("no connector of these tests has pages in the style `{other}`"),
        };
        all.extend(items);
        let Some(next) = next else { return all };
        put(&mut input, &text("input"), next);
    }
    panic!("{operation} has no last page: {all:?}");
}

/// Sets the member at a JSON Pointer, and creates the objects that lead to it.
fn put(document: &mut Value, pointer: &str, value: Value) {
    let mut place = document;
    for step in pointer.split('/').skip(1) {
        place = &mut place[step];
    }
    *place = value;
}

#[test]
fn a_caller_that_knows_the_description_reads_all_pages_by_cursor() {
    let upstreams = [("api", "/calendar/v3"), ("oauth2", "/oauth2/v2")];
    let world = Connected::start("workspace_calendar", Dialect::google(), &upstreams, "", google_claims);
    world.provider.on_api(|seen, _| {
        Reply::json(match seen.parameter("pageToken").as_deref() {
            None => json!({"items": [1, 2], "nextPageToken": "second"}),
            Some("second") => json!({"items": [3], "nextPageToken": "third"}),
            Some("third") => json!({"items": [4]}),
            Some(other) => json!({"error": other}),
        })
    });
    let input = json!({"calendar_id": "primary", "query": {"maxResults": 2}});
    assert_eq!(read_all(&world.gateway, "workspace_calendar/events_list", input), [1, 2, 3, 4].map(Value::from));
    assert!(world.provider.api_calls().iter().rev().take(3).all(|seen| seen.parameter("maxResults").is_some()));
}

#[test]
fn a_caller_that_knows_the_description_reads_all_pages_by_link() {
    let world = Connected::start("office_teamchat", Dialect::microsoft(), &[("graph", "/v1.0")], "", microsoft_user);
    world.provider.on_api(|seen, _| {
        let link = |token: &str| format!("https://graph.microsoft.com/v1.0/me/chats?$top=2&$skiptoken={token}");
        Reply::json(match seen.parameter("$skiptoken").as_deref() {
            None => json!({"value": [1, 2], "@odata.nextLink": link("a%2bb%3d")}),
            Some("a+b=") => json!({"value": [3], "@odata.nextLink": link("last")}),
            Some("last") => json!({"value": [4]}),
            Some(other) => json!({"error": other}),
        })
    });
    let input = json!({"query": {"$top": 2}});
    assert_eq!(read_all(&world.gateway, "office_teamchat/list_chats", input), [1, 2, 3, 4].map(Value::from));
}

#[test]
fn a_caller_that_knows_the_description_reads_all_pages_by_number() {
    let world = Connected::start("code_hosting", Dialect::github(), &[("api", "")], "", |_, account| {
        Reply::json(json!({"id": 7, "login": "ada", "email": account.email, "name": account.name}))
    });
    world.provider.on_api(|seen, _| {
        Reply::json(match seen.parameter("page").as_deref() {
            None | Some("1") => json!(["a", "b"]),
            Some("2") => json!(["c"]),
            _ => json!([]),
        })
    });
    let input = json!({"owner": "o", "repo": "r"});
    assert_eq!(read_all(&world.gateway, "code_hosting/list_commits", input), ["a", "b", "c"].map(Value::from));
    assert_eq!(read_all(&world.gateway, "code_hosting/list_repositories", json!({})), ["a", "b", "c"].map(Value::from));
}

#[test]
fn a_caller_that_knows_the_description_reads_all_pages_by_the_last_item() {
    let upstream = Upstream::start();
    upstream.on("/charges", |seen| {
        Reply::json(match seen.parameter("starting_after").as_deref() {
            None => json!({"data": [{"id": "a"}, {"id": "b/1"}], "has_more": true}),
            Some("b/1") => json!({"data": [{"id": "c"}], "has_more": true}),
            Some("c") => json!({"data": [{"id": "d"}], "has_more": false}),
            Some(other) => json!({"error": other}),
        })
    });
    let setup = Setup::new().module("liar", module::liar("last item"));
    let gateway = setup.upstream("liar", "api", &upstream.url()).start();
    let rule = json!({
        "style": "last_item", "items": "/data", "next": "/id", "more": "/has_more", "input": "/word",
    });
    assert_eq!(described(&gateway), BTreeMap::from([("liar/version".to_owned(), rule.clone())]));
    let operations = gateway.connector("liar").unwrap()["operations"].clone();
    let listed = operations.as_array().unwrap().iter().find(|operation| operation["path"] == "version").unwrap();
    assert_eq!(listed["x-pagination"], rule);
    let items = read_all(&gateway, "liar/version", json!({}));
    assert_eq!(items, ["a", "b/1", "c", "d"].map(|id| json!({"id": id})));
    assert_eq!(upstream.seen().len(), 3, "the page without more is the last one");
}
