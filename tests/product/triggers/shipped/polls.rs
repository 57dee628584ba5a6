//! Services that do not notify: arXiv and X.

use support::arxiv::{atom, entry, feed};
use support::webhooks::{make_secret, verified};

use super::*;

#[test]
fn new_papers_of_arxiv_are_read_without_an_account() {
    let world = Shipped::start("preprint_archive", "", &["api"], "");
    let papers: Arc<Mutex<Vec<String>>> = Arc::default();
    let shared = Arc::clone(&papers);
    world.service.on("/api/query", move |_| {
        let papers = shared.lock();
        let entries: Vec<String> = papers.iter().rev().cloned().collect();
        atom(feed(entries.len(), 0, 500, &entries))
    });
    let happens = |title: &str| {
        let mut papers = papers.lock();
        let number = papers.len() + 1;
        papers.push(entry(&format!("2603.{number:05}v1"), title, "cs.LG", &format!("2026-03-02T10:00:{number:02}Z")));
    };
    happens("before");
    let id = world.trigger("", "preprint_archive.new_paper", &json!({"search_query": "all:electron"}));
    let record = world.record(&id);
    assert_eq!((&record["mode"], &record["user_identifier"]), (&json!("poll"), &Value::Null));
    world.check_reads(&id, "/title", happens);
    let queries = world.requests("GET", "/api/query");
    let parameter = |name: &str| queries[0].parameter(name).unwrap_or_default();
    let sent = ["search_query", "sortBy", "sortOrder"].map(parameter);
    assert_eq!(sent, ["(all:electron)", "submittedDate", "descending"]);
    assert_eq!(queries.len(), 4, "one request for each read");
}

#[test]
fn the_receiver_of_events_is_told_that_a_service_refuses_reads_for_good() {
    let world = Shipped::start("preprint_archive", "", &["api"], "[callbacks]\nallow_private_network = true");
    world.service.on("/api/query", |_| atom(feed(0, 0, 500, &[])));
    let (_, secret) = make_secret(&world.client());
    let receiver = Upstream::start();
    receiver.reply("*", Reply::empty(204));
    let made = world.client().post(
        "/triggers",
        json!({
            "connector": "preprint_archive", "type": "new_paper", "parameters": {"search_query": "all:electron"},
            "urls": [receiver.url()],
        }),
    );
    assert_eq!((made.status, &made.json()["status"]), (201, &json!("active")), "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    world.service.on("/api/query", |_| Reply::empty(403));
    wait_for("the end of the trigger", || {
        world.gateway.home().sqlite("UPDATE subscriptions SET due_at = 0, read_at = 0, tried_at = NULL");
        (world.record(&id)["status"] == "failed").then_some(())
    });
    let disabled = wait_for("the event", || world.events(&id).pop());
    assert_eq!(disabled["type"], "trigger.disabled");
    assert!(disabled["data"]["reason"].is_string(), "{disabled}");
    receiver.wait_for_requests(1);
    assert_eq!(verified(&receiver.seen()[0], &secret), disabled);
}

#[test]
fn posts_and_mentions_of_x_are_read_since_the_last_one() {
    let world = Shipped::start("microblog", "x", &["api"], "");
    world.connect("microblog", &["ada"]);
    let posts: Arc<Mutex<Vec<Value>>> = Arc::default();
    let shared = Arc::clone(&posts);
    world.service.on("*", move |seen| {
        let posts = shared.lock();
        let since: usize = seen.parameter("since_id").and_then(|since| since.parse().ok()).unwrap_or_default();
        let id = |post: &Value| post["id"].as_str().and_then(|id| id.parse::<usize>().ok()).unwrap_or_default();
        let newer: Vec<&Value> = posts.iter().rev().filter(|post| id(post) > since).collect();
        let users = json!([{"id": "9", "name": "Kim", "username": "kim"}]);
        match seen.path.as_str() {
            "/api/users/me" => Reply::json(json!({"data": {"id": "7", "username": "ada", "name": "Ada"}})),
            "/api/users/7/mentions" | "/api/users/9/tweets" if newer.is_empty() => {
                Reply::json(json!({"meta": {"result_count": 0}}))
            }
            "/api/users/7/mentions" | "/api/users/9/tweets" => {
                Reply::json(json!({"data": newer, "includes": {"users": users}, "meta": {"result_count": newer.len()}}))
            }
            _ => Reply::empty(404),
        }
    });
    let happens = |text: &str| {
        let mut posts = posts.lock();
        let id = (posts.len() + 1).to_string();
        posts.push(json!({"id": id, "text": text, "author_id": "9", "created_at": "2026-03-02T10:00:00.000Z"}));
    };
    happens("before");
    let mentions = world.trigger("ada", "microblog.mention", &json!({}));
    world.check_reads(&mentions, "/text", happens);
    assert_eq!(world.data(&mentions)[0]["author"]["username"], "kim");
    let of_kim = world.trigger("ada", "microblog.post_of_user", &json!({"id": "9"}));
    happens("Hello");
    world.read(&of_kim);
    assert_eq!(world.told(&of_kim, "/text"), ["Hello"]);
    let asked = world.requests("GET", "/api/users/7/mentions");
    let since: Vec<Option<String>> = asked.iter().map(|seen| seen.parameter("since_id")).collect();
    let known = |id: &str| Some(id.to_owned());
    assert_eq!(since[..4], [None, known("1"), known("3"), known("3")]);
}
