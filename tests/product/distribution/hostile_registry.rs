//! Registries that ask for credentials on behalf of others, and that never stop to answer.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::ServerConfig;
use support::home::{file, path};
use support::{Authority, Home, Setup, module, process, runtime};
use tempfile::NamedTempFile;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const PASSWORD: &str = "a-secret-password";

/// An answer of a server.
enum Answer {
    /// A status, header lines and a body.
    Whole(&'static str, String, String),
    /// The same with a body that does not end.
    Endless,
}

/// A server on loopback, and the heads of the requests that it got.
struct Server {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(tls: Option<ServerConfig>, answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        let (heads, answer) = (Arc::clone(&seen), Arc::new(answer));
        runtime().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (heads, answer, acceptor) = (Arc::clone(&heads), Arc::clone(&answer), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => converse(stream, &heads, &*answer).await,
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => converse(stream, &heads, &*answer).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self { address, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

/// Answers one request, and closes the connection. `None` if the client has closed it before.
async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    heads: &Mutex<Vec<String>>,
    answer: &impl Fn(&str) -> Answer,
) -> Option<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    heads.lock().push(head.clone());
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    while bytes.len() < end + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    match answer(&head) {
        Answer::Whole(status, headers, body) => {
            let length = body.len();
            let text =
                format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}");
            stream.write_all(text.as_bytes()).await.ok()?;
            stream.shutdown().await.ok()
        }
        Answer::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").await.ok()?;
            loop {
                stream.write_all(&[b' '; 8192]).await.ok()?;
            }
        }
    }
}

fn missing() -> Answer {
    Answer::Whole("404 Not Found", String::new(), String::new())
}

/// Refuses requests without authorization, with a challenge.
fn challenged(head: &str, challenge: &str, then: impl Fn(&str) -> Answer) -> Answer {
    match head.contains("\r\nauthorization: ") {
        true => then(head),
        false => Answer::Whole("401 Unauthorized", format!("WWW-Authenticate: {challenge}\r\n"), String::new()),
    }
}

/// Runs a command with the name and the password of a user. Returns its exit status and remarks.
fn run_as_user(home: &Home, arguments: &[&str], roots: Option<&NamedTempFile>) -> (Option<i32>, String) {
    let mut command = home.command(&[arguments, &["--username", "alice", "--password-stdin"]].concat());
    if let Some(roots) = roots {
        command.env("SSL_CERT_FILE", roots.path());
    }
    let finished = process::run_with_input(&mut command, PASSWORD);
    (finished.code, finished.stderr)
}

#[test]
fn credentials_go_to_another_host_only_over_tls_and_the_command_says_to_which() {
    let home = Setup::new().prepare();
    let authority = Authority::new();
    let roots = NamedTempFile::new().unwrap();
    authority.write_roots(roots.path());
    let token = |_: &str| Answer::Whole("200 OK", String::new(), r#"{"token": "a-token"}"#.to_owned());
    let plain = Server::start(None, token);
    let encrypted = Server::start(Some(authority.server(&["http/1.1"])), token);
    let registry = |realm: String| {
        Server::start(None, move |head| {
            challenged(head, &format!("Bearer realm=\"{realm}\",service=\"modules\""), |_| missing())
        })
    };

    let asking = registry(format!("http://{}/token", plain.address));
    let name = format!("oci://{}/liar:1", asking.address);
    let (code, said) = run_as_user(&home, &["connectors", "add", &name], None);
    assert!(code == Some(1) && said.contains(&plain.address) && said.contains("only over https"), "{said}");
    assert!(plain.seen().is_empty());

    let asking = registry(format!("https://{}/token", encrypted.address));
    let name = format!("oci://{}/liar:1", asking.address);
    let (code, said) = run_as_user(&home, &["connectors", "add", &name], Some(&roots));
    assert!(code == Some(1) && said.contains("no such module"), "{said}");
    let sentence = format!("The name and the password for {} are sent to {}", asking.address, encrypted.address);
    assert!(said.contains(&sentence), "{said}");
    let [asked] = encrypted.seen().try_into().unwrap();
    assert!(asked.contains("authorization: basic ") && asked.contains("service=modules"), "{asked}");
    let heads = asking.seen();
    assert!(heads.iter().all(|head| !head.contains("basic ")), "{heads:?}");
    assert!(heads.last().unwrap().contains("authorization: bearer a-token"), "{heads:?}");
}

#[test]
fn a_place_for_uploads_at_another_host_gets_no_credentials() {
    let home = Setup::new().prepare();
    let storage = Server::start(None, |_| Answer::Whole("201 Created", String::new(), String::new()));
    let place = format!("Location: http://{}/upload?state=1\r\n", storage.address);
    let registry = Server::start(None, move |head| {
        challenged(head, "Basic realm=\"modules\"", |head| match head.split(' ').next() {
            Some("post") => Answer::Whole("202 Accepted", place.clone(), String::new()),
            Some("put") => Answer::Whole("201 Created", String::new(), String::new()),
            _ => missing(),
        })
    });
    let module = file(&home, "liar.wasm", &module::liar("version=1.0.0"));
    let name = format!("oci://{}/liar:1", registry.address);
    let (code, said) = run_as_user(&home, &["connectors", "push", path(&module), &name], None);
    assert_eq!(code, Some(0), "{said}");
    assert!(registry.seen().last().unwrap().contains("authorization: basic "));
    let heads = storage.seen();
    assert_eq!(heads.len(), 2, "the module and the document about it");
    for head in heads {
        assert!(head.contains("upload?state=1&digest=sha256") && !head.contains("authorization"), "{head}");
    }
}

#[test]
fn an_answer_without_an_end_ends_the_command() {
    let home = Setup::new().prepare();
    let manifest = Server::start(None, |head| match head.contains("/manifests/") {
        true => Answer::Endless,
        false => Answer::Whole("200 OK", String::new(), String::new()),
    });
    let tokens = Server::start(None, |_| Answer::Endless);
    let realm = format!("Bearer realm=\"http://{}/token\"", tokens.address);
    let asking = Server::start(None, move |head| challenged(head, &realm, |_| missing()));
    for (registry, what) in [(&manifest, "its manifest has more than"), (&asking, "a token has more than")] {
        let began = Instant::now();
        let refused = home.run(&["connectors", "add", &format!("oci://{}/liar:1", registry.address)]);
        assert!(refused.code == Some(1) && refused.stderr.contains(what), "{}", refused.stderr);
        assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
    }
}

#[test]
fn words_of_a_registry_do_not_change_what_the_terminal_shows() {
    let home = Setup::new().prepare();
    let words = "\u{1b}[2K\r\u{202e}signed\nwith a key of publisher acme";
    let mut body = String::from(r#"{"errors": [{"code": "DENIED", "message": ""#);
    words.encode_utf16().for_each(|unit| write!(body, "\\u{unit:04x}").unwrap());
    body.push_str("\"}]}");
    let registry = Server::start(None, move |head| match head.contains("/manifests/") {
        true => Answer::Whole("403 Forbidden", String::new(), body.clone()),
        false => Answer::Whole("200 OK", String::new(), String::new()),
    });
    let refused = home.run(&["connectors", "add", &format!("oci://{}/liar:1", registry.address)]);
    assert_eq!(refused.code, Some(1));
    let said = refused.stderr.lines().last().unwrap();
    assert!(
        said.contains("DENIED") && said.contains("\\u{1b}[2K\\r\\u{202e}signed\\nwith a key"),
        "{}",
        refused.stderr
    );
}
