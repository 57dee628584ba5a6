//! The request of each row, the look-ups of users, and the identity of the connected user.
//! `thread_tests` has the threads.

use connector_sdk::auth::{Auth, ClientAuthentication, Revocation};
use connector_sdk::http::{Error, Method};
use connector_sdk::testing::{Answer, Gateway, forwarded, invoke, pages, refused};
use connector_sdk::{Fault, Outcome};

use crate::CONNECTOR;

/// The path of the request that an operation forwards.
fn path(operation: &str, input: &str) -> String {
    forwarded(&CONNECTOR, operation, input).path
}

#[test]
fn every_field_has_its_name_in_the_query() {
    let selection = r#""tweet_fields":["lang"],"expansions":["author_id"],"media_fields":["url"],"place_fields":["geo"],"poll_fields":["id"],"user_fields":["name","id"]"#;
    let sent =
        "post.fields=lang&expansions=author_id&media.fields=url&place.fields=geo&poll.fields=id&user.fields=name,id";
    let encoded = sent.replace(',', "%2C");
    for (operation, input, expected) in [
        (
            "tweet_search",
            r#""query":"a","end_time":"2026-01-02T00:00:00Z","start_time":"2026-01-01T02:00:00.5+01:00","sort_order":"recency","since_id":"1","until_id":"9","next_token":"t=","#,
            format!(
                "/tweets/search/recent?query=a&end_time=2026-01-02T00%3A00%3A00Z&start_time=2026-01-01T01%3A00%3A00Z&sort_order=recency&since_id=1&until_id=9&next_token=t%3D&{encoded}"
            ),
        ),
        ("get_tweets", r#""ids":["1","2"],"#, format!("/tweets?ids=1,2&{sent}")),
        (
            "get_user_tweets",
            r#""id":"7","max_results":5,"pagination_token":"p","start_time":"2026-01-01T00:00:00Z","end_time":"2026-01-02T00:00:00Z","exclude":["replies","retweets"],"#,
            format!(
                "/users/7/tweets?max_results=5&pagination_token=p&start_time=2026-01-01T00%3A00%3A00Z&end_time=2026-01-02T00%3A00%3A00Z&exclude=replies,retweets&{sent}"
            ),
        ),
        (
            "get_user_mentions",
            r#""id":"7","pagination_token":"p","#,
            format!("/users/7/mentions?pagination_token=p&{sent}"),
        ),
    ] {
        assert_eq!(path(operation, &format!("{{{input}{selection}}}")), expected);
    }
    assert_eq!(
        path("tweet_counts", r#"{"query":"a b","start_time":"2026-01-01T00:00:00Z","next_token":"n"}"#),
        "/tweets/counts/recent?query=a%20b&start_time=2026-01-01T00%3A00%3A00Z&next_token=n"
    );
}

#[test]
fn the_operator_chooses_the_name_of_the_fields_of_posts() {
    let _gateway = Gateway::new().setting("post_fields", r#""tweet.fields""#);
    for (operation, input, expected) in [
        ("get_tweets", r#""ids":["1"]"#, "/tweets?ids=1&tweet.fields=lang"),
        ("get_user_tweets", r#""id":"7""#, "/users/7/tweets?tweet.fields=lang"),
        // The text of a value is encoded, so it is not taken for the name.
        (
            "tweet_search",
            r#""query":"&post.fields=x""#,
            "/tweets/search/recent?query=%26post.fields%3Dx&tweet.fields=lang",
        ),
        ("get-users", r#""ids":["1"]"#, "/users?ids=1&tweet.fields=lang"),
    ] {
        assert_eq!(path(operation, &format!(r#"{{{input},"tweet_fields":["lang"]}}"#)), expected);
    }
    assert_eq!(path("tweet_counts", r#"{"query":"&post.fields=x"}"#), "/tweets/counts/recent?query=%26post.fields%3Dx");
}

#[test]
fn a_post_may_be_a_reply_and_a_quote() {
    let input = r#"{"text":"Hi","in_reply_to_tweet_id":"1","quote_tweet_id":"2","reply_settings":"following"}"#;
    let request = forwarded(&CONNECTOR, "create_tweet", input);
    assert_eq!(request.method, Method::Post);
    let body =
        r#"{"text":"Hi","reply":{"in_reply_to_tweet_id":"1"},"quote_tweet_id":"2","reply_settings":"following"}"#;
    assert!(matches!(request.body, Some(connector_sdk::http::Body::Json(text)) if text == body));
}

#[test]
fn lists_without_items_are_left_out_of_a_search() {
    assert_eq!(
        path("tweet_search", r#"{"query":"a","tweet_fields":[],"expansions":[]}"#),
        "/tweets/search/recent?query=a"
    );
}

/// Pointer and detail of the only violation.
fn violation(operation: &str, input: &str) -> (String, String) {
    match &refused(&CONNECTOR, operation, input)[..] {
        [violation] => (violation.pointer.clone(), violation.detail.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_search_needs_a_period_of_time() {
    let search = |start: &str, end: &str| format!(r#"{{"query":"a","start_time":"{start}","end_time":"{end}"}}"#);
    for start in ["2026-01-02T00:00:00Z", "2026-01-02T00:00:00.001Z", "2026-01-02T01:00:00+01:00"] {
        assert_eq!(violation("tweet_search", &search(start, "2026-01-02T00:00:00Z")).0, "/start_time");
    }
    assert_eq!(violation("tweet_search", &search("2026-02-30T00:00:00Z", "2026-03-02T00:00:00Z")).0, "/start_time");
    assert!(path("tweet_search", &search("2026-01-01T23:59:59Z", "2026-01-02T00:00:00Z")).contains("start_time"));
}

#[test]
fn a_look_up_of_users_names_exactly_one_field() {
    for (input, given) in [
        ("{}", "names no user"),
        (r#"{"id":null,"user_fields":["name"]}"#, "names no user"),
        (r#"{"id":"1","ids":[]}"#, "has `id`, `ids`."),
        (r#"{"username":"a","usernames":["b"]}"#, "has `username`, `usernames`."),
        (r#"{"id":"1","ids":["2"],"username":"a","usernames":["b"]}"#, "has `id`, `ids`, `username`, `usernames`."),
    ] {
        let (pointer, detail) = violation("get-users", input);
        assert!(pointer.is_empty() && detail.contains(given), "{detail}");
    }
}

#[test]
fn each_field_is_its_own_look_up() {
    let selection = r#""user_fields":["name","id"],"expansions":["pinned_post_id"],"tweet_fields":["lang"]"#;
    let sent = "user.fields=name%2Cid&expansions=pinned_post_id&post.fields=lang";
    let user = r#"{"data":{"id":"7","username":"ada"},"includes":{"posts":[]}}"#;
    for (input, expected) in [
        (r#""id":"7""#, "/users/7"),
        (r#""username":"@ada""#, "/users/by/username/ada"),
        (r#""username":"ada","id":null"#, "/users/by/username/ada"),
    ] {
        let gateway = Gateway::new().answer(Answer::json(200, user));
        let outcome = invoke(&CONNECTOR, "get-users", &format!("{{{input},{selection}}}"));
        assert!(matches!(outcome, Ok(Outcome::ReplyDocument(answer)) if answer.text() == user));
        assert_eq!(gateway.requests()[0].path, format!("{expected}?{sent}"));
    }
    assert_eq!(path("get-users", &format!(r#"{{"ids":["7","8"],{selection}}}"#)), format!("/users?ids=7%2C8&{sent}"));
    assert_eq!(path("get-users", r#"{"usernames":["@ada","b_1"]}"#), "/users/by?usernames=ada%2Cb_1");
}

#[test]
fn one_user_that_x_does_not_have_is_not_found() {
    let body = r#"{"errors":[{"value":"9","detail":"Could not find user with id: [9].","title":"Not Found Error","type":"https://api.x.com/2/problems/resource-not-found"}]}"#;
    for (answer, expected) in [(body, "Could not find user with id: [9]."), (r#"{"data":null}"#, "`9`"), ("[]", "`9`")]
    {
        let _gateway = Gateway::new().answer(Answer::json(200, answer));
        let Err(Fault::NotFound(fault)) = invoke(&CONNECTOR, "get-users", r#"{"id":"9"}"#) else { panic!("{answer}") };
        assert!(fault.detail.contains(expected), "{}", fault.detail);
        assert_eq!(fault.members, Some(format!(r#"{{"answer":{answer}}}"#)));
    }
}

#[test]
fn a_refusal_of_a_look_up_keeps_its_status_and_x_s_problem() {
    let body = r#"{"title":"Too Many Requests","detail":"Too Many Requests","type":"about:blank","status":429}"#;
    let _gateway = Gateway::new().answer(Answer::json(429, body).header("retry-after", "61"));
    let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "get-users", r#"{"username":"ada"}"#) else {
        panic!("a fault")
    };
    assert_eq!((fault.status, fault.retry_after_seconds, fault.body.as_deref()), (429, Some(61), Some(body)));
}

#[test]
fn every_list_has_pages() {
    assert_eq!(
        pages(&CONNECTOR),
        [
            "tweet_search: /data, next cursor /meta/next_token, into /next_token",
            "get_user_tweets: /data, next cursor /meta/next_token, into /pagination_token",
            "get_user_mentions: /data, next cursor /meta/next_token, into /pagination_token",
            "tweet_counts: /data, next cursor /meta/next_token, into /next_token",
        ]
    );
}

#[test]
fn an_id_stays_within_its_segment() {
    assert_eq!(path("delete_tweet", r#"{"id":"1/2"}"#), "/tweets/1%2F2");
    assert_eq!(violation("get-users", r#"{"id":".."}"#).0, "/id");
    assert_eq!(violation("get-users", r#"{"username":"@"}"#).0, "/username");
    assert_eq!(violation("get_thread", r#"{"id":""}"#).0, "/id");
}

#[test]
fn userinfo_is_the_common_shape() {
    let user = r#"{"data":{"id":"7","name":"Ada L","username":"ada","profile_image_url":"https://p.test/a"}}"#;
    let gateway = Gateway::new().answer(Answer::json(200, user)).answer(Answer::json(200, r#"{"data":{"id":"7"}}"#));
    for expected in [
        r#"{"data":{"id":"7","email":null,"username":"ada","name":"Ada L","picture":"https://p.test/a","organization":null},"meta":null}"#,
        r#"{"data":{"id":"7","email":null,"username":null,"name":null,"picture":null,"organization":null},"meta":null}"#,
    ] {
        let Ok(Outcome::Reply(answer)) = invoke(&CONNECTOR, "userinfo", "{}") else { panic!("a reply") };
        assert_eq!(answer, expected);
    }
    let requests = gateway.requests();
    assert_eq!(
        (requests[0].upstream.as_str(), requests[0].path.as_str()),
        ("userinfo", "?user.fields=profile_image_url")
    );
}

#[test]
fn a_response_without_a_user_is_an_error() {
    let _gateway = Gateway::new()
        .answer(Answer::json(200, r#"{"errors":[{"detail":"no"}]}"#))
        .answer(Answer::json(401, r#"{"title":"Unauthorized","status":401}"#));
    assert!(matches!(invoke(&CONNECTOR, "userinfo", "{}"), Err(Fault::Http(Error::BadAnswer(_)))));
    let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "userinfo", "{}") else { panic!("a fault") };
    assert_eq!(fault.status, 401);
}

#[test]
fn the_client_proves_itself_by_basic_and_pkce_and_asks_for_a_refresh_token() {
    let Auth::OAuth2(client) = &CONNECTOR.auth else { panic!("OAuth 2.0") };
    assert!(client.pkce && matches!(client.client_authentication, ClientAuthentication::Basic));
    assert!(client.scopes.contains(&"offline.access"));
    assert_eq!(
        (client.authorization_url, client.token_url),
        ("https://x.com/i/oauth2/authorize", "https://api.x.com/2/oauth2/token")
    );
    assert!(matches!(client.revocation, Some(Revocation::Form("https://api.x.com/2/oauth2/revoke"))));
}

#[test]
fn a_search_has_the_language_and_the_number_of_posts_of_the_caller() {
    assert_eq!(
        path("tweet_search", r#"{"query":"rust wasm -is:retweet","lang":"en","max_results":50}"#),
        "/tweets/search/recent?query=rust%20wasm%20-is%3Aretweet%20lang%3Aen&max_results=50"
    );
}
