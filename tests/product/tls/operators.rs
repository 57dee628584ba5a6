//! TLS at `admin_listen`, where clients may need a certificate, and the commands that use it.

use std::fs;

use rustls::ALL_VERSIONS;
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use support::home::path;
use support::process::{self, Finished};
use support::setup::KEY;
use support::tls::Issued;
use support::{Authority, Client, Gateway, Home, Setup, module};

/// A gateway whose operators need a certificate of `operators`. It speaks plain HTTP with callers.
fn start(servers: &Authority, operators: &Authority) -> Gateway {
    let home = Setup::new()
        .module("liar", module::liar("version=1.0.0"))
        .general("admin_listen = \"127.0.0.1:0\"")
        .config("[admin_tls]\ncertificate = \"tls.crt\"\nkey = \"tls.key\"\nclient_ca = \"operators.crt\"")
        .prepare();
    let (certificate, key) = home.pair();
    servers.issue().write(&certificate, &key);
    fs::write(certificate.with_file_name("operators.crt"), operators.root()).unwrap();
    servers.write_roots(&certificate.with_file_name("roots.crt"));
    home.start()
}

/// The address of the operators' routes.
fn admin_address(gateway: &Gateway) -> String {
    let serving = gateway.wait_for_log("the addresses", |line| line["message"] == "serving");
    format!("https://{}", serving["admin_listen"].as_str().unwrap())
}

fn is_refused(client: &Client) -> bool {
    client.request("GET", "/metrics").try_send().is_err()
}

#[test]
fn an_operator_needs_a_certificate_of_the_configured_authority() {
    let (servers, operators) = (Authority::new(), Authority::new());
    let gateway = start(&servers, &operators);
    let at = gateway.anonymous().at(&admin_address(&gateway));
    let (wrong, expired, right) = (servers.issue(), operators.issue_until((2020, 1, 1)), operators.issue());
    for version in [&TLS13, &TLS12] {
        let with = |own: Option<&Issued>| at.clone().over_tls(servers.client_of(&[version], own));
        assert!(is_refused(&with(None)), "no certificate, {version:?}");
        assert!(is_refused(&with(Some(&wrong))), "another authority, {version:?}");
        assert!(is_refused(&with(Some(&expired))), "expired, {version:?}");
        assert_eq!(with(Some(&right)).get("/metrics").status, 200, "{version:?}");
    }
    // The certificate does not stand for a key.
    let known = at.over_tls(servers.client_of(ALL_VERSIONS, Some(&right)));
    known.delete("/admin/connectors/liar").problem(401, "unauthenticated");
    gateway.call("liar/version", json!({})).ok();
}

/// Runs a command at the operators' address that trusts the authority of the gateway.
fn run(home: &Home, arguments: &[&str], client_certificate: Option<&str>) -> Finished {
    let mut command = home.command(arguments);
    command.env("SSL_CERT_FILE", home.pair().0.with_file_name("roots.crt")).env("GATEWAY_KEY", KEY);
    if let Some(file) = client_certificate {
        command.args(["--client-certificate", file]);
    }
    process::run(&mut command)
}

#[test]
fn commands_present_the_certificate_of_their_operator() {
    let (servers, operators) = (Authority::new(), Authority::new());
    let gateway = start(&servers, &operators);
    let (home, address) = (gateway.home(), admin_address(&gateway));
    let operator = operators.issue();
    let own = home.pair().0.with_file_name("operator.pem");
    fs::write(&own, format!("{}{}", operator.certificate, operator.key)).unwrap();

    let list = ["connectors", "list", "--json", "--url", &address];
    let listed = run(home, &list, Some(path(&own)));
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["connectors"][0]["connector"], "liar");
    assert_eq!(run(home, &list, None).code, Some(1));
    let wrong = run(home, &list, Some(path(&home.pair().0)));
    assert!(wrong.stderr.contains("tls.crt cannot be used") && wrong.code == Some(1), "{}", wrong.stderr);

    let examined = run(home, &["doctor", "--json", "--url", &address], Some(path(&own)));
    assert!(examined.stdout.contains("is reachable and ready"), "{}{}", examined.stdout, examined.stderr);
}
