//! Files of OneDrive against a stand-in for Microsoft Graph, and another one for the host that
//! keeps the files.

use std::fmt::Debug;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use support::{Answer, Dialect, Endpoint, Reply, Upstream};

use super::{Connected, microsoft_user};

/// A gateway whose operator lists the host of `files` in addition to Microsoft's own hosts.
fn connected(files: &Upstream, config: &str) -> Connected {
    let config = format!("link_hosts.graph = [\"127.0.0.1:{}\"]\n{config}", files.port());
    Connected::start("office_drive", Dialect::microsoft(), &[("graph", "/v1.0")], &config, microsoft_user)
}

/// Graph redirects requests for content to a path of `files`.
fn redirect_to(world: &Connected, files: &Upstream, path: &str) {
    let address = files.url() + path;
    world.provider.on_api(move |_, _| Reply::redirect(&address));
}

fn download(world: &Connected) -> Answer {
    world.call("download_item", json!({"drive_id": "b!abc", "item_id": "01ABC"}))
}

/// A download whose caller wants the bytes of a text. An error means that the answer broke off.
fn download_text(world: &Connected) -> Result<Answer, impl Debug> {
    let call = world.client.request("POST", "/connectors/office_drive/download_item").header("accept", "text/plain");
    call.json(&json!({"drive_id": "b!abc", "item_id": "01ABC"})).try_send()
}

#[test]
fn a_download_follows_the_redirect_without_the_token() {
    let files = Upstream::start();
    let world = connected(&files, "");
    let header = "attachment; filename=\"Plaene.txt\"; filename*=UTF-8''Pl%C3%A4ne.txt";
    files.reply("/y23", Reply::typed("text/plain", "Hello").header("content-disposition", header));
    redirect_to(&world, &files, "/y23?tempauth=a%2Bb");
    let expected = json!({
        "file_name": "Pläne.txt", "content_type": "text/plain", "size": 5, "content_base64": STANDARD.encode("Hello"),
    });
    assert_eq!(download(&world).ok(), expected);

    let asked = world.provider.api_calls();
    let asked = asked.last().unwrap();
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("GET", "/api/v1.0/drives/b%21abc/items/01ABC/content"));
    let token = world.provider.access_tokens().pop().unwrap();
    assert_eq!(asked.header("authorization"), format!("Bearer {token}"));
    let seen = files.seen();
    assert_eq!((seen.len(), seen[0].query.as_str(), seen[0].header("authorization")), (1, "tempauth=a%2Bb", ""));
    assert!(!format!("{seen:?}").contains(&token), "{seen:?}");
}

#[test]
fn a_download_streams_to_a_caller_that_wants_the_bytes() {
    let files = Upstream::start();
    // The file is larger than anything that the gateway may hold for an invocation.
    let world = connected(&files, "limits.response_mb = 1");
    let text = "0123456789abcdef".repeat(128 << 10);
    let (begin, end) = text.split_at(1000);
    files.reply("/y23", Reply::pieces("text/plain", &[begin, end]).header("content-disposition", "a; filename=a.txt"));
    redirect_to(&world, &files, "/y23");
    let answer = download_text(&world).unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain"));
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"a.txt\"");
    assert!(answer.text() == text, "the answer is the whole file");

    files.reply("/y23", Reply::cut_off("text/plain", begin));
    let broken = download_text(&world);
    assert!(broken.is_err(), "the answer began before the file had arrived, so it breaks off: {broken:?}");
}

#[test]
fn content_without_a_redirect_is_the_file() {
    let files = Upstream::start();
    let world = connected(&files, "");
    world
        .provider
        .on_api(|_, _| Reply::typed("application/pdf", "%PDF-").header("content-disposition", "a; filename=p.pdf"));
    let file = world.call("download_item", json!({"drive_id": "d", "item_id": "i", "query": {"format": "pdf"}})).ok();
    assert_eq!((&file["file_name"], &file["content_type"]), (&json!("p.pdf"), &json!("application/pdf")));
    assert_eq!(world.provider.api_calls().last().unwrap().query, "format=pdf");
}

#[test]
fn a_file_over_the_limit_is_refused_whether_it_says_its_size_or_not() {
    let files = Upstream::start();
    let world = connected(&files, "limits.download_mb = 1");
    redirect_to(&world, &files, "/y23");
    let text = "x".repeat((1 << 20) + 1);
    let (begin, end) = text.split_at(1000);
    files.reply("/y23", Reply::typed("text/plain", text[1..].to_owned()));
    assert_eq!(download(&world).ok()["size"], 1 << 20);
    for large in [Reply::typed("text/plain", text.clone()), Reply::pieces("text/plain", &[begin, end])] {
        files.reply("/y23", large);
        download(&world).problem(413, "answer-too-large");
    }
}

#[test]
fn a_refusal_of_graph_or_of_the_file_host_keeps_its_status() {
    let files = Upstream::start();
    let world = connected(&files, "");
    let refusal = json!({"error": {"code": "notSupported", "message": "Folders have no content"}});
    let body = refusal.clone();
    world.provider.on_api(move |_, _| Reply::json(body.clone()).status(400));
    let answer = download(&world);
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["upstream"], json!({"status": 400, "body": refusal}));

    redirect_to(&world, &files, "/gone");
    for status in [404, 410] {
        files.reply("/gone", Reply::typed("text/plain", "gone").status(status));
        let answer = download(&world);
        assert_eq!((answer.status, answer.json()["upstream"]["body"].as_str()), (status, Some("gone")));
    }
}

#[test]
fn a_401_of_the_file_host_is_no_refusal_of_the_token() {
    let files = Upstream::start();
    let world = connected(&files, "");
    redirect_to(&world, &files, "/expired");
    files.reply("/expired", Reply::empty(401));
    let refreshes = world.provider.count(Endpoint::Refresh);
    download(&world).problem(502, "upstream-not-understood");
    assert_eq!((world.provider.count(Endpoint::Refresh), files.seen().len()), (refreshes, 1));
}

#[test]
fn a_file_without_a_name_is_called_as_the_last_part_of_its_address() {
    let files = Upstream::start();
    let world = connected(&files, "");
    files.reply("/x/Pl%C3%A4ne%2F1.txt", Reply::typed("text/plain", "Hello"));
    redirect_to(&world, &files, "/x/Pl%C3%A4ne%2F1.txt?tempauth=abc");
    assert_eq!(download(&world).ok()["file_name"], "Pläne_1.txt");
}

#[test]
fn a_redirect_to_a_host_that_is_not_microsofts_is_refused() {
    let (files, elsewhere) = (Upstream::start(), Upstream::start());
    let world = connected(&files, "");
    redirect_to(&world, &elsewhere, "/y23");
    let answer = download(&world);
    answer.problem(403, "egress-denied");
    assert!(elsewhere.seen().is_empty());
}

fn upload(world: &Connected, content: &[u8], more: &Value) -> Answer {
    let mut input = json!({
        "drive_id": "b!abc", "parent_item_id": "root", "file_name": "a b.txt", "content_base64": STANDARD.encode(content),
    });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    world.call("upload_file", input)
}

#[test]
fn an_upload_sends_the_bytes_and_answers_with_the_item() {
    let files = Upstream::start();
    let world = connected(&files, "");
    let item = json!({"id": "0123456789abc", "name": "a b.txt", "size": 35.0, "file": {}});
    let created = item.clone();
    world.provider.on_api(move |_, _| Reply::json(created.clone()).status(201));
    let bytes: Vec<u8> = (0..=255).collect();
    let more = json!({"content_type": "text/plain", "query": {"@microsoft.graph.conflictBehavior": "rename"}});
    assert_eq!(upload(&world, &bytes, &more).ok(), item);
    upload(&world, b"", &json!({})).ok();

    let [sent, empty] = &world.provider.api_calls()[1..] else { panic!("two uploads") };
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("PUT", "/api/v1.0/drives/b%21abc/items/root:/a%20b.txt:/content")
    );
    assert_eq!(sent.parameter("@microsoft.graph.conflictBehavior").as_deref(), Some("rename"));
    assert_eq!((sent.header("content-type"), &sent.body[..]), ("text/plain", &bytes[..]));
    assert_eq!(empty.header("content-type"), "application/octet-stream");
    assert!(empty.body.is_empty());
    assert_eq!(empty.header("content-length"), "0");
}

#[test]
fn the_largest_request_that_the_gateway_takes_can_be_an_upload() {
    let files = Upstream::start();
    let world = connected(&files, "");
    world.provider.on_api(|_, _| Reply::json(json!({"id": "large"})).status(201));
    let input = |content: &str| {
        let input = json!({"drive_id": "d", "parent_item_id": "p", "file_name": "f", "content_base64": content});
        input.to_string()
    };
    let most = 10 << 20;
    // Escaped slashes are the dearest form: the connector cannot borrow the text.
    let room = (most - input("").len()) / 8 * 8;
    let content = "/".repeat(room / 2);
    let escaped = input(&content).replace('/', "\\/");
    assert!(escaped.len() <= most && escaped.len() > most - 16);
    let plain = input(&"/".repeat(room));
    for (body, bytes) in [(plain, room / 4 * 3), (escaped, room / 8 * 3)] {
        let call = world.client.request("POST", "/connectors/office_drive/upload_file");
        let answer = call.header("content-type", "application/json").body(body).send();
        assert_eq!(answer.ok()["id"], "large");
        assert_eq!(world.provider.api_calls().last().unwrap().body.len(), bytes);
    }
    let call = world.client.request("POST", "/connectors/office_drive/upload_file");
    let large = call.header("content-type", "application/json").body(input(&"/".repeat(room + 8))).send();
    assert_eq!(large.status, 413);
}

#[test]
fn content_that_is_not_base64_never_reaches_graph() {
    let files = Upstream::start();
    let world = connected(&files, "");
    let before = world.provider.api_calls().len();
    let violations = upload(&world, b"", &json!({"content_base64": "SGVsbG8"})).violations();
    assert_eq!(violations[0].0, "/content_base64");
    let violations = upload(&world, b"", &json!({"file_name": "a/b"})).violations();
    assert_eq!(violations[0].0, "/file_name");
    assert_eq!(world.provider.api_calls().len(), before);
}

#[test]
fn the_url_of_a_running_copy_is_answered_and_not_requested() {
    let files = Upstream::start();
    let world = connected(&files, "");
    let monitor = format!("{}/_api/v2.0/monitor/4A3407B5", files.url());
    let location = monitor.clone();
    world.provider.on_api(move |_, _| Reply::empty(202).header("location", &location));
    let input = json!({
        "drive_id": "b!abc", "item_id": "01ABC", "parent_reference": {"driveId": "b!abc", "id": "01P"},
        "query": {"@microsoft.graph.conflictBehavior": "replace"},
    });
    assert_eq!(world.call("copy_item", input).ok(), json!({"status": "accepted", "monitor_url": monitor}));
    let sent = world.provider.api_calls().pop().unwrap();
    assert_eq!(sent.parameter("@microsoft.graph.conflictBehavior").as_deref(), Some("replace"));
    assert_eq!(
        serde_json::from_slice::<Value>(&sent.body).unwrap(),
        json!({"parentReference": {"driveId": "b!abc", "id": "01P"}})
    );
    assert!(files.seen().is_empty());
}
