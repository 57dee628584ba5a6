//! A gateway that speaks TLS itself.

mod operators;
mod renewal;

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Version;
use rustls::pki_types::CertificateDer;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConnection, StreamOwned};
use serde_json::json;
use support::{Authority, Client, Gateway, Home, Setup, module};

/// A gateway with a connector, which speaks TLS with a certificate of this authority.
fn setup(authority: &Authority) -> Setup {
    Setup::new().module("liar", module::liar("version=1.0.0")).tls(authority)
}

/// The certificate that a gateway presents to a new connection.
fn presented(gateway: &Gateway, authority: &Authority) -> CertificateDer<'static> {
    let connection = ClientConnection::new(Arc::new(authority.client()), "127.0.0.1".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, connect(gateway));
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
}

/// A connection that has sent nothing yet.
fn connect(gateway: &Gateway) -> TcpStream {
    let address = gateway.address();
    let stream = TcpStream::connect(address.strip_prefix("https://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(240))).unwrap();
    stream
}

/// Reads until the gateway closes the connection.
#[track_caller]
fn rest_of(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    if let Err(error) = stream.read_to_end(&mut read) {
        // A reset is an end too.
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    read
}

#[track_caller]
fn assert_serves(client: &Client) {
    client.call("liar/version", json!({})).ok();
}

#[test]
fn callers_speak_both_versions_of_http_with_both_versions_of_tls() {
    let authority = Authority::new();
    let gateway = setup(&authority).start();
    assert!(gateway.address().starts_with("https://127.0.0.1:"), "{}", gateway.address());
    for tls in [&TLS13, &TLS12] {
        for (protocols, version) in
            [(&["h2", "http/1.1"][..], Version::HTTP_2), (&["http/1.1"], Version::HTTP_11), (&[], Version::HTTP_11)]
        {
            let mut settings = authority.client_of(&[tls], None);
            settings.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
            let answer = gateway.client().over_tls(settings).call("liar/version", json!({}));
            answer.ok();
            assert_eq!(answer.version, version, "{tls:?} {protocols:?}");
        }
    }
    let trusting_another = gateway.client().over_tls(Authority::new().client());
    assert!(
        trusting_another.request("GET", "/healthz").try_send().is_err(),
        "another authority's certificate is refused"
    );
}

#[test]
fn many_callers_shake_hands_at_once_also_with_a_key_that_signs_slowly() {
    let authority = Authority::new();
    let home = setup(&authority).prepare();
    let (certificate, key) = home.pair();
    authority.issue_rsa().write(&certificate, &key);
    let gateway = home.start();
    for tls in [&TLS13, &TLS12] {
        // Each of them has its own connection.
        let begin = |_| {
            gateway.client().over_tls(authority.client_of(&[tls], None)).begin("/connectors/liar/version", json!({}))
        };
        let calls: Vec<_> = (0..50).map(begin).collect();
        for call in calls {
            call.wait().ok();
        }
    }
}

/// The first message of a client whose newest version is TLS 1.1.
fn hello_of_tls_1_1() -> Vec<u8> {
    // The extension `signature_algorithms`, without which a server looks no further.
    let extensions = [0, 8, 0, 13, 0, 4, 0, 2, 4, 3];
    let body = [&[3, 2][..], &[7; 32], &[0], &[0, 4, 0xc0, 0x13, 0, 0xff], &[1, 0], &extensions].concat();
    let length = u8::try_from(body.len()).unwrap();
    let message = [&[1, 0, 0, length][..], &body].concat();
    [&[22, 3, 1, 0, length + 4][..], &message].concat()
}

#[test]
fn earlier_versions_of_tls_are_refused() {
    let gateway = setup(&Authority::new()).start();
    let mut stream = connect(&gateway);
    stream.write_all(&hello_of_tls_1_1()).unwrap();
    let alert = rest_of(&mut stream);
    // A fatal alert: `protocol_version`.
    assert!(alert.starts_with(&[21, 3]) && alert.ends_with(&[2, 70]), "{alert:?}");
}

#[test]
fn a_caller_without_tls_is_turned_away_at_once() {
    let authority = Authority::new();
    // The time limit of a connection without a request would not end within the test.
    let gateway = setup(&authority).general("caller_timeout_s = 3600").start();
    let mut stream = connect(&gateway);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let answer = rest_of(&mut stream);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    assert_serves(&gateway.client());
}

#[test]
fn a_handshake_ends_after_the_time_of_a_caller_and_holds_up_no_one() {
    let authority = Authority::new();
    let gateway = setup(&authority).general("caller_timeout_s = 4").start();
    let mut waiting: Vec<TcpStream> = (0..20).map(|_| connect(&gateway)).collect();
    // Half of a first message.
    let half = &hello_of_tls_1_1()[..20];
    waiting.iter_mut().skip(10).for_each(|stream| stream.write_all(half).unwrap());
    assert_serves(&gateway.client());
    for stream in &mut waiting {
        rest_of(stream);
    }
    // A new client, because the connection of the gateway's own one is closed in these seconds too.
    assert_serves(&gateway.client().over_tls(authority.client()));
}

#[test]
fn handshakes_count_as_connections_and_make_room_for_a_caller() {
    let gateway = setup(&Authority::new()).general("caller_timeout_s = 3600\nmax_connections = 2").start();
    let mut waiting = [connect(&gateway), connect(&gateway)];
    assert_serves(&gateway.client());
    rest_of(&mut waiting[0]);
}

#[test]
fn a_gateway_ends_while_a_handshake_waits() {
    let mut gateway = setup(&Authority::new()).general("caller_timeout_s = 3600\ndrain_s = 3600").start();
    let mut waiting = connect(&gateway);
    // It was accepted before this caller.
    assert_serves(&gateway.client());
    assert!(gateway.stop().success());
    rest_of(&mut waiting);
}

#[test]
fn the_metrics_show_when_the_certificate_expires() {
    let gateway = setup(&Authority::new()).start();
    // 1 January 2040.
    assert_eq!(gateway.metric("gateway_certificate_expiry_timestamp_seconds{section=\"tls\"}"), 2_208_988_800.0);
}

/// Changes the files of a gateway before its start.
type Change<'a> = &'a dyn Fn(&Home);

#[test]
fn a_start_with_files_that_cannot_be_used_says_what_to_do() {
    let (authority, other) = (Authority::new(), Authority::new());
    let refused = |change: Change<'_>| {
        let home = setup(&authority).prepare();
        change(&home);
        let finished = home.run(&["serve"]);
        assert_eq!(finished.code, Some(1), "{}{}", finished.stdout, finished.stderr);
        finished.stderr
    };
    let write = |path: &Path, text: &str| fs::write(path, text).unwrap();
    let cases: [(Change<'_>, [&str; 2]); 7] = [
        (&|home| fs::remove_file(home.pair().0).unwrap(), ["`tls.certificate`", "cannot be read"]),
        (&|home| write(&home.pair().0, "no certificate"), ["`tls.certificate`", "no certificate in PEM"]),
        (
            &|home| write(&home.pair().0, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            ["`tls.certificate`", "cannot be used"],
        ),
        (&|home| write(&home.pair().1, "no key"), ["`tls.key`", "without a passphrase"]),
        (&|home| write(&home.pair().1, &other.issue().key), ["`tls.key`", "not the key of the certificate"]),
        (&|home| fs::remove_file(home.pair().1).unwrap(), ["`tls.key`", "name a file"]),
        (
            &|home| {
                fs::set_permissions(home.pair().1, Permissions::from_mode(0o644)).unwrap();
            },
            ["`tls.key`", "(mode 644); set its mode to 600"],
        ),
    ];
    for (change, words) in cases {
        let message = refused(change);
        for word in words {
            assert!(message.contains(word), "`{word}` in {message}");
        }
        assert!(!message.contains("PRIVATE KEY"), "{message}");
    }
}
