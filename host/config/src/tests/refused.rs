//! Wrong configurations are refused, with words that say where they are wrong.

use std::path::Path;

use super::load;
use crate::Config;

#[test]
fn incomplete_issuers_and_issuers_with_wrong_values_are_refused() {
    let whole = "[jwt_issuers.acme]\nissuer = \"i\"\naudience = \"a\"\njwks_url = \"https://i.example/keys\"\n";
    let cases = [
        ("[jwt_issuers.acme]\nissuer = \"i\"".to_owned(), "`jwt_issuers.acme.audience` is missing"),
        (whole.replace("https", "http"), "`jwt_issuers.acme.jwks_url` must begin with https://"),
        (format!("{whole}scopes = [\"admin\"]"), "must be a list of \"operate\" and \"integrate\""),
        (format!("{whole}tenant = \"\""), "`jwt_issuers.acme.tenant` must not be empty"),
        (format!("{whole}tenant = \"t\"\ntenant_claim = \"c\""), "keep one of them"),
        (format!("{whole}{}", whole.replace("acme", "twin")), "the same `issuer` and `audience` as `acme`"),
    ];
    for (text, expected) in cases {
        let error = load(&text, &[]).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let private = format!("{}allow_private_network = true", whole.replace("https", "http"));
    assert!(load(&private, &[]).is_ok());
}

#[test]
fn a_publisher_without_a_valid_key_is_refused() {
    let cases = [
        ("connectors = [\"words\"]", "`trust.publishers.acme.key` is missing"),
        ("", "`trust.publishers.acme.key` is missing"),
        ("key = \"\"\nconnectors = [\"words\"]", "`trust.publishers.acme.key` is missing"),
        ("key = \"RWQ\"", "`trust.publishers.acme.key` must be a public key of minisign"),
        ("key = 7", "must be a public key of minisign"),
        ("connectors = [\"*\"]", "must be a list of identifiers"),
        ("connectors = [\"a*b\"]", "must be a list of identifiers"),
    ];
    for (keys, expected) in cases {
        let error = load(&format!("[trust.publishers.acme]\n{keys}"), &[]).unwrap_err();
        assert!(error.contains(expected), "{keys}: {error}");
    }
}

#[test]
fn two_issuers_with_the_same_fixed_tenant_are_refused() {
    let section = |name: &str, issuer: &str, more: &str| {
        format!(
            "[jwt_issuers.{name}]\nissuer = \"{issuer}\"\naudience = \"{name}\"\njwks_url = \"https://i.example/keys\"\n{more}\n"
        )
    };
    let both =
        |first: &str, second: &str| load(&(section("acme", "i", first) + &section("umbrella", "j", second)), &[]);
    for (first, second, tenant) in [("", "", "default"), ("tenant = \"t\"", "tenant = \"t\"", "t")] {
        assert_eq!(
            both(first, second).unwrap_err(),
            format!(
                "the configuration is wrong: gateway.toml:6: `jwt_issuers.umbrella` has the tenant `{tenant}`, as \
                 `jwt_issuers.acme` with another `issuer` has: users of both with the same `sub` would share their accounts; \
                 give each section a separate `tenant`"
            )
        );
    }
    both("", "tenant = \"t\"").unwrap();
    both("tenant_claim = \"org\"", "").unwrap();
    both("tenant_claim = \"org\"", "tenant_claim = \"org\"").unwrap();
    // One issuer with two audiences: its `sub` identifies the same user in both.
    load(&(section("acme", "i", "") + &section("umbrella", "i", "")), &[]).unwrap();
}

#[test]
fn all_problems_are_reported_at_once_with_their_locations_and_expectations() {
    let text = "listn = \"x\"\nmax_body_mb = 0\n\n[connectors.demo]\nmemory_mb = 64\n[connectors.demo.limits]\ncpu_ms = \"fast\"\n";
    let error = load(text, &[("GATEWAY__LOG_FORMAT", "xml"), ("GATEWAY__CONNECTORS__DEMO__UPSTREAM__API", "http://a")]);
    assert_eq!(
        error.unwrap_err(),
        "the configuration is wrong in 6 places:
  gateway.toml:1: `listn` is not known; the nearest key is `listen`
  gateway.toml:2: `max_body_mb` must be a whole number from 1 to 1024; it is `0`
  gateway.toml:5: `connectors.demo.memory_mb` is not known; the nearest key is `connectors.demo.limits.memory_mb`
  gateway.toml:7: `connectors.demo.limits.cpu_ms` must be a whole number from 1 to 600000; it is `\"fast\"`
  GATEWAY__CONNECTORS__DEMO__UPSTREAM__API: `connectors.demo.upstream` is not known; the nearest key is `connectors.demo.upstreams`
  GATEWAY__LOG_FORMAT: `log_format` must be \"auto\", \"text\" or \"json\"; it is `\"xml\"`"
    );
}

#[test]
fn a_single_problem_is_reported_on_one_line() {
    assert_eq!(
        load("", &[("GATEWAY__LISTEN", "8080")]).unwrap_err(),
        "the configuration is wrong: GATEWAY__LISTEN: `listen` must be an IP address and a port, such as \"127.0.0.1:8080\"; \
         it is `8080`"
    );
}

#[test]
fn wrong_values_are_refused() {
    for (text, expected) in [
        ("public_url = \"gateway.example\"", "must be an absolute http or https URL"),
        ("public_url = \"https://a.example/?x=1\"", "must be an absolute http or https URL"),
        ("database_url = \"mysql://a\"", "must be empty, for SQLite"),
        ("log = \"inof\"", "must be off, error, warn"),
        ("log = \"info,=debug\"", "must be off, error, warn"),
        ("log = \"\"", "must be off, error, warn"),
        ("log = \"info,\"", "must be off, error, warn"),
        ("log = \"info,egress=\"", "must be off, error, warn"),
        ("jobs.keep_h = 8785", "must be a number of hours above 0 and at most 8784, such as 24 or 0.5; it is `8785`"),
        ("allowed_callback_origins = [\"https://a.example/path\"]", "must be a list of origins"),
        ("allowed_callback_origins = \"https://a.example\"", "must be a list of origins"),
        ("compile = 3", "must be a section"),
        ("[connectors.Web-Mail]", "is not the identifier of a connector"),
        ("[connectors.demo.upstreams]\n\"a.b\" = \"http://a\"", "is not the name of an upstream"),
        ("[connectors.demo.settings]\nx = nan", "must be a value that JSON can represent"),
        ("[connectors.demo.limits]\nmemory_mb = -1", "must be a whole number from 0 to 4096"),
        ("[connectors.demo]\nallow_private_network = \"yes\"", "must be true or false"),
        ("[oauth_clients.acme]\nclient_secret = \"a\"", "is missing, but there is a client secret"),
        ("[oauth_clients.acme]\nclient_secret = 3", "must be a string in quotes"),
    ] {
        let error = load(text, &[]).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn values_that_may_be_secret_are_never_quoted() {
    for text in [
        "database_url = \"mysql://user:hunter2@host\"",
        "public_url = \"ftp://user:hunter2@host\"",
        "[connectors.demo.upstreams]\napi = \"https://user:hunter2@host\"",
        "[oauth_clients.acme]\nclient_secret = \"hunter2",
        "[oauth_clients.acme]\nclient_secret = [\"hunter2\"]",
    ] {
        let error = load(text, &[]).unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }
    let config =
        load("database_url = \"postgres://user:hunter2@host\"", &[("GATEWAY_BOOTSTRAP_KEY", "hunter2")]).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn text_that_is_not_toml_is_reported_with_its_line() {
    let error = load("listen = \"127.0.0.1:1\"\nlog == 3\n", &[]).unwrap_err();
    assert!(error.starts_with("gateway.toml:2: this is not TOML: "), "{error}");
    let error = load("log = \"info\"\nlog = \"info\"\n", &[]).unwrap_err();
    assert!(error.starts_with("gateway.toml:2: this is not TOML: duplicate key"), "{error}");
}

#[test]
fn a_file_that_is_named_must_exist() {
    let missing = Path::new("no/such.toml");
    let error = Config::load(Some(missing), std::iter::empty()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the configuration file no/such.toml: No such file"), "{error}");
    let variable = [("GATEWAY_CONFIG".to_owned(), "no/such.toml".to_owned())];
    assert!(Config::load(None, variable.into_iter()).is_err());
    // The tests run in a folder without a gateway.toml.
    assert!(Config::load(None, std::iter::empty()).is_ok());
}

#[test]
fn a_variable_without_a_key_is_refused() {
    for name in ["GATEWAY__", "GATEWAY____LISTEN", "GATEWAY__COMPILE__"] {
        assert!(load("", &[(name, "x")]).unwrap_err().contains("does not name a key"), "{name}");
    }
}

#[test]
fn a_variable_for_a_key_below_a_plain_value_is_refused() {
    let error = load("listen = \"127.0.0.1:1\"", &[("GATEWAY__LISTEN__PORT", "2")]).unwrap_err();
    assert!(error.contains("`listen` must be an IP address and a port"), "{error}");
}

#[test]
fn callers_and_operators_have_addresses_of_their_own() {
    let refused = |listen: &str, admin_listen: &str| {
        load(&format!("listen = \"{listen}\"\nadmin_listen = \"{admin_listen}\""), &[]).err().unwrap_or_default()
    };
    assert_eq!(
        refused("127.0.0.1:9000", "127.0.0.1:9000"),
        "the configuration is wrong: gateway.toml:2: `admin_listen` must be another address than `listen`, which is \
         127.0.0.1:9000; choose another port"
    );
    assert_ne!(refused("0.0.0.0:9000", "127.0.0.1:9000"), "");
    for (listen, admin_listen) in
        [("127.0.0.1:0", "127.0.0.1:0"), ("127.0.0.1:9000", "127.0.0.1:9001"), ("127.0.0.1:9000", "127.0.0.2:9000")]
    {
        assert_eq!(refused(listen, admin_listen), "");
    }
}

#[test]
fn services_have_an_address_of_their_own() {
    let refused = |admin_listen: &str, hooks_listen: &str| {
        let text = format!(
            "listen = \"127.0.0.1:9000\"\nadmin_listen = \"{admin_listen}\"\n[hooks]\nlisten = \"{hooks_listen}\""
        );
        load(&text, &[]).err().unwrap_or_default()
    };
    for (admin_listen, hooks_listen, taken) in
        [("", "127.0.0.1:9000", "listen"), ("127.0.0.1:9001", "0.0.0.0:9001", "admin_listen")]
    {
        let error = refused(admin_listen, hooks_listen);
        let expected = format!("gateway.toml:4: `hooks.listen` must be another address than `{taken}`, which is ");
        assert!(error.contains(&expected), "{error}");
    }
    assert_eq!(refused("127.0.0.1:9001", "127.0.0.1:9002"), "");
    assert_eq!(refused("127.0.0.1:0", "127.0.0.1:0"), "");
}
