//! Manifests that break one rule each.

use super::*;

pub(super) fn manifest() -> Manifest<'static> {
    Manifest {
        identifier: "example",
        version: "1.0.0",
        title: "Example",
        description: "",
        imprint: Imprint { license: "MIT", homepage: None, author: None, icon: None },
        auth: Auth::None,
        upstreams: vec![upstream("api", "https://api.example")],
        rate_limits: vec![RateLimit { name: "slow", requests: 1, period_seconds: 60 }],
        settings: vec![Setting { name: "contact", schema: "{}", default: Some("1"), documentation: "" }],
        operations: vec![operation("list")],
        upstream_additions: UpstreamAdditions::default(),
    }
}

pub(super) fn upstream<'a>(name: &'a str, base_url: &'a str) -> Upstream<'a> {
    Upstream { name, base_url, credential_in_form: false, link_hosts: vec!["*.example.com"], concurrency: Some(1) }
}

pub(super) fn operation(path: &str) -> Operation<'_> {
    Operation {
        path,
        summary: "List",
        description: "",
        input_schema: r#"{"type": "object", "properties": {"page": {}}, "additionalProperties": false}"#,
        example: Some(r#"{"page": 1}"#),
        envelope: true,
        answers_json: true,
        answer_schema: Some("{}"),
        answer_example: Some("[]"),
        pagination: Some(Pagination { items: "/items", next: Some("/next"), parameter: None, input: "/page" }),
        background: false,
        rate_limit: Some("slow"),
    }
}

pub(super) fn oauth2() -> Oauth2<'static> {
    Oauth2 {
        provider: "acme",
        authorization_url: "https://acme.example/authorize",
        token_url: "",
        refresh_url: None,
        revocation_url: Some("https://acme.example/{client_id}/token"),
        scopes: vec!["read"],
        scope_separator: " ",
        scope_parameter: "scope",
        authorization_parameters: vec![("prompt", "consent")],
        token_parameters: Vec::new(),
        token_pointer: "",
        form_field: None,
        identity: Some(Identity { operation: "list", pointers: vec!["/id"] }),
    }
}

/// The violations of the manifest after a change, both kinds together.
fn violations(change: impl FnOnce(&mut Manifest<'static>)) -> Vec<String> {
    let mut manifest = manifest();
    change(&mut manifest);
    check(&manifest).into_iter().chain(check_schemas(&manifest)).map(|violation| violation.to_string()).collect()
}

#[track_caller]
fn only(change: impl FnOnce(&mut Manifest<'static>), part: &str, rule: &str) {
    let found = violations(change);
    let [violation] = found.as_slice() else { panic!("{found:?}") };
    assert!(violation.starts_with(part) && violation.contains(rule), "{violation}");
}

#[test]
fn a_manifest_that_keeps_the_rules_has_no_violation() {
    assert!(violations(|_| {}).is_empty());
    assert!(violations(|manifest| manifest.auth = Auth::Oauth2(oauth2())).is_empty());
}

#[test]
fn names_limits_and_texts_are_checked() {
    only(|manifest| manifest.identifier = "Example", "identifier `Example`", "begins with a letter");
    only(|manifest| manifest.version = "", "version", "1 to 64");
    only(|manifest| manifest.title = Box::leak("x".repeat(65 << 10).into_boxed_str()), "title", "64 KiB");
    only(|manifest| manifest.operations.clear(), "operations", "at least one");
    only(|manifest| manifest.operations.push(operation("list")), "operation `list`", "twice");
    only(|manifest| manifest.operations.push(operation("auth-schema")), "operation `auth-schema`", "answers this path");
    only(|manifest| manifest.rate_limits[0].requests = 0, "rate limit `slow`", "at least 1");
    only(|manifest| manifest.operations[0].rate_limit = Some("fast"), "operation `list`", "no rate limit `fast`");
    let many = || (0..17).map(|number| &*Box::leak(format!("u{number}").into_boxed_str()));
    only(|manifest| manifest.upstreams = many().map(|name| upstream(name, "")).collect(), "upstreams", "at most 16");
    only(|manifest| manifest.settings[0].name = "Contact", "setting `Contact`", "`a-z`");
}

#[test]
fn the_imprint_is_checked() {
    only(|manifest| manifest.imprint.homepage = Some("acme.example"), "imprint.homepage", "https://");
    for icon in ["png", "<html><svg></svg></html>", "<svgx>", "", "<!-- <svg>"] {
        only(|manifest| manifest.imprint.icon = Some(icon), "imprint.icon", "SVG");
    }
    for icon in ["<svg/>", "<?xml version=\"1.0\"?>\n<!-- a -->\n<!DOCTYPE svg>\n<svg xmlns=\"x\"></svg>"] {
        assert!(violations(|manifest| manifest.imprint.icon = Some(icon)).is_empty(), "{icon}");
    }
    only(|manifest| manifest.imprint.license = Box::leak("x".repeat(257).into_boxed_str()), "imprint.license", "256");
}

#[test]
fn texts_that_operators_see_have_no_control_characters() {
    let rule = "no line break";
    only(|manifest| manifest.version = "1.0.0\u{1b}[2J", "version", rule);
    only(|manifest| manifest.title = "Acme\n  credential  none", "title", rule);
    only(|manifest| manifest.imprint.author = Some("a\rb"), "imprint.author", rule);
    only(|manifest| manifest.imprint.license = "a\u{9b}b", "imprint.license", rule);
    only(|manifest| manifest.imprint.homepage = Some("https://acme.example/\n"), "imprint.homepage", rule);
    let oauth2 = || Oauth2 { form_field: Some("token\n"), ..oauth2() };
    only(|manifest| manifest.auth = Auth::Oauth2(oauth2()), "auth.form-field", rule);
    let key = ApiKey { header: None, prefix: None, query: Some("key\n"), form_field: None, check: None };
    only(|manifest| manifest.auth = Auth::ApiKey(key), "api-key, query", rule);
}

#[test]
fn addresses_are_checked() {
    only(|manifest| manifest.upstreams[0].base_url = "ftp://a.example", "upstream `api`, base-url", "absolute");
    only(|manifest| manifest.upstreams[0].base_url = "{api}/me", "upstream `api`, base-url", "before this one");
    only(
        |manifest| manifest.upstreams[0].link_hosts = vec!["*.com"],
        "upstream `api`, link host `*.com`",
        "registrable",
    );
    only(|manifest| manifest.upstreams[0].concurrency = Some(0), "upstream `api`", "at least 1");
}

#[test]
fn the_auth_scheme_is_checked() {
    let auth = |change: fn(&mut Oauth2<'static>)| {
        move |manifest: &mut Manifest<'static>| {
            let mut scheme = oauth2();
            change(&mut scheme);
            manifest.auth = Auth::Oauth2(scheme);
        }
    };
    only(auth(|scheme| scheme.provider = "example"), "identifier `example`", "name of the connector's provider");
    only(auth(|scheme| scheme.token_url = "http://acme.example"), "oauth2.token-url", "https://");
    only(auth(|scheme| scheme.token_pointer = "data"), "oauth2, pointer `data`", "begins with `/`");
    only(auth(|scheme| scheme.identity.as_mut().unwrap().operation = "me"), "auth", "no operation `me`");
    only(auth(|scheme| scheme.form_field = Some("")), "auth.form-field", "not empty");
    only(|manifest| manifest.upstreams[0].credential_in_form = true, "upstream `api`", "form-field");
    let key = ApiKey { header: Some("Host"), prefix: None, query: None, form_field: None, check: None };
    only(|manifest| manifest.auth = Auth::ApiKey(key), "api-key, header `Host`", "cannot hold a key");
}

#[test]
fn the_operation_that_connects_an_account_needs_no_input() {
    let schema =
        r#"{"type": "object", "properties": {"page": {}}, "required": ["page"], "additionalProperties": false}"#;
    let with = |auth| {
        move |manifest: &mut Manifest<'static>| {
            manifest.operations.push(operation("other"));
            (manifest.operations[0].input_schema, manifest.auth) = (schema, auth);
        }
    };
    let key = |check| {
        Auth::ApiKey(ApiKey { header: None, prefix: None, query: Some("key"), form_field: None, check: Some(check) })
    };
    let rule =
        "invokes the operation `list` with the body `{}` when a user connects an account, but its field `page` is";
    only(with(key("list")), "auth", rule);
    only(with(Auth::Oauth2(oauth2())), "auth", rule);
    assert!(violations(with(key("other"))).is_empty());
    assert!(violations(with(Auth::None)).is_empty());
}

#[test]
fn schemas_and_examples_are_checked() {
    only(|manifest| manifest.operations[0].input_schema = "{", "operation `list`", "is not JSON");
    only(|manifest| manifest.operations[0].example = Some("{\"x\": 1}"), "operation `list`", "does not name");
    only(
        |manifest| manifest.operations[0].answer_schema = Some("{"),
        "operation `list`",
        "schema of the answer is not JSON",
    );
    only(
        |manifest| manifest.operations[0].answer_example = Some("{"),
        "operation `list`",
        "example of the answer is not JSON",
    );
    let large = Box::leak(format!("\"{}\"", "a".repeat(16 << 10)).into_boxed_str());
    only(|manifest| manifest.operations[0].answer_example = Some(large), "operation `list`", "at most 16 KiB");
    only(|manifest| manifest.settings[0].default = Some("x"), "setting `contact`", "default is not JSON");
    let reserved =
        r#"{"type": "object", "properties": {"page": {}, "response_fields": {}}, "additionalProperties": false}"#;
    only(|manifest| manifest.operations[0].input_schema = reserved, "operation `list`", "member of the envelope");
    only(|manifest| manifest.operations[0].background = true, "operation `list`", "declares `waiting`");
    let pages = |manifest: &mut Manifest<'static>| {
        manifest.operations[0].pagination =
            Some(Pagination { items: "", next: None, parameter: None, input: "/query/page" });
    };
    only(pages, "operation `list`, pagination `/query/page`", "the input schema does not name this member");
}

#[test]
fn a_url_of_the_next_page_may_be_in_the_header_link() {
    let next = |next, parameter| {
        move |manifest: &mut Manifest<'static>| {
            let pages = manifest.operations[0].pagination.as_mut().unwrap();
            (pages.next, pages.parameter) = (Some(next), parameter);
        }
    };
    assert_eq!(violations(next("Link", Some("page"))), Vec::<String>::new());
    only(next("link", Some("page")), "operation `list`, pagination `link`", "JSON Pointer");
    only(next("Link", None), "operation `list`, pagination `Link`", "JSON Pointer");
}

#[test]
fn no_text_has_control_or_format_characters() {
    const RULE: &str = "control or format character";
    for text in ["a\u{1b}[2K", "a\nb", "a\u{202e}b", "a\u{200b}b"] {
        only(|manifest| manifest.title = text, "title", RULE);
        only(|manifest| manifest.imprint.author = Some(text), "imprint.author", RULE);
        only(|manifest| manifest.imprint.license = text, "imprint.license", RULE);
        only(|manifest| manifest.operations[0].summary = text, "operation `list`", RULE);
        let with = |change: fn(&mut Oauth2<'static>, &'static str)| {
            move |manifest: &mut Manifest<'static>| {
                let mut scheme = oauth2();
                change(&mut scheme, text);
                manifest.auth = Auth::Oauth2(scheme);
            }
        };
        only(with(|scheme, text| scheme.provider = text), "oauth2.provider", RULE);
        only(with(|scheme, text| scheme.scopes.push(text)), "scope `a", RULE);
        only(with(|scheme, text| scheme.scope_parameter = text), "oauth2.scope-parameter", RULE);
        only(with(|scheme, text| scheme.form_field = Some(text)), "auth.form-field", RULE);
        only(with(|scheme, text| scheme.authorization_parameters.push(("x", text))), "oauth2, parameter `x`", RULE);
        only(with(|scheme, text| scheme.token_parameters.push((text, "x"))), "oauth2, parameter `a", RULE);
        let key = ApiKey { header: Some("X-Key"), prefix: Some(text), query: None, form_field: None, check: None };
        only(|manifest| manifest.auth = Auth::ApiKey(key), "api-key, header prefix", RULE);
    }
    for text in ["a\u{1b}[2K", "a\rb", "a\u{202e}b"] {
        only(|manifest| manifest.description = text, "description", RULE);
        only(|manifest| manifest.operations[0].description = text, "operation `list`", RULE);
        only(|manifest| manifest.settings[0].documentation = text, "setting `contact`", RULE);
    }
    assert!(violations(|manifest| manifest.description = "one\r\ntwo\n\tthree").is_empty());
}

/// The parts of the rules that declarations break.
fn broken(manifest: &Manifest<'_>, additions: &AuthAdditions<'_>) -> Vec<String> {
    check_auth_additions(manifest, additions).iter().map(ToString::to_string).collect()
}

#[test]
fn ways_to_authorize_need_oauth_2_and_an_upstream() {
    let with_oauth2 = Manifest { auth: Auth::Oauth2(oauth2()), ..manifest() };
    let app = |upstream, path| AuthAdditions {
        app_installation: Some(AppInstallation { upstream, path }),
        ..AuthAdditions::default()
    };
    let all = AuthAdditions {
        client_credentials: true,
        service_account: Some(ServiceAccount { audience: Some("https://acme.example/token") }),
        device_code: Some(DeviceCode { device_authorization_url: "https://acme.example/device" }),
        ..app("api", "/app/{installation_id}/tokens")
    };
    assert_eq!(broken(&with_oauth2, &all), [""; 0]);
    assert_eq!(broken(&manifest(), &all).len(), 4);
    assert_eq!(broken(&manifest(), &AuthAdditions::default()), [""; 0]);
    let unknown = broken(&with_oauth2, &app("none", "/{installation_id}"));
    assert!(unknown[0].contains("there is no upstream `none`"), "{unknown:?}");
    for path in [
        "",
        "/x",
        "/{installation}",
        "/a{installation_id}",
        "/{installation_id}a",
        "{installation_id}",
        "/{installation_id}?a",
        "/../{installation_id}",
        "/{installation_id}/{installation_id}",
    ] {
        assert_eq!(broken(&with_oauth2, &app("api", path)).len(), 1, "{path}");
    }
    let odd =
        AuthAdditions { service_account: Some(ServiceAccount { audience: Some("a b") }), ..AuthAdditions::default() };
    assert!(broken(&with_oauth2, &odd)[0].contains("audience"));
}

#[test]
fn a_device_authorization_url_is_empty_or_as_a_token_url_and_has_no_part() {
    let with_oauth2 = Manifest { auth: Auth::Oauth2(oauth2()), ..manifest() };
    let device = |device_authorization_url| AuthAdditions {
        device_code: Some(DeviceCode { device_authorization_url }),
        ..AuthAdditions::default()
    };
    for url in ["", "https://acme.example/device", "http://127.0.0.1:8080/device"] {
        assert_eq!(broken(&with_oauth2, &device(url)), [""; 0], "{url}");
    }
    for url in
        ["http://acme.example/device", "/device", "https://{shop}.acme.example/device", "https://a.example/{client_id}"]
    {
        assert_eq!(broken(&with_oauth2, &device(url)).len(), 1, "{url}");
    }
}

#[test]
fn codes_of_ended_grants_need_oauth_2_and_have_the_form_of_a_code() {
    let with_oauth2 = Manifest { auth: Auth::Oauth2(oauth2()), ..manifest() };
    let codes = |ended_codes| AuthAdditions { ended_codes, ..AuthAdditions::default() };
    let (longest, too_long) = ("x".repeat(64), "x".repeat(65));
    assert_eq!(broken(&with_oauth2, &codes(vec!["refresh_token_consumed", "70008", "E-1", &longest])), [""; 0]);
    let found = broken(&manifest(), &codes(vec!["gone"]));
    assert!(matches!(found.as_slice(), [only] if only.contains("needs the auth scheme `oauth2`")), "{found:?}");
    for code in ["", "---", "token consumed", "g\u{f6}ne", "gone\n", &too_long] {
        let found = broken(&with_oauth2, &codes(vec![code]));
        assert!(matches!(found.as_slice(), [only] if only.contains("1 to 64")), "{code}: {found:?}");
    }
    assert_eq!(broken(&with_oauth2, &codes(vec!["gone"; 32])), [""; 0]);
    let found = broken(&with_oauth2, &codes(vec!["gone"; 33]));
    assert!(matches!(found.as_slice(), [only] if only.contains("at most 32")), "{found:?}");
}

#[test]
fn signatures_need_a_header_of_an_api_key() {
    use crate::account_address::PartForm;
    use crate::signature::{AwsSignature, Encoding, Hash, HmacSignature, Region, SecretForm, TextPart};

    let key = |header, prefix| ApiKey { header, prefix, query: None, form_field: None, check: None };
    let with = |key| Manifest { auth: Auth::ApiKey(key), ..manifest() };
    let signed = || with(key(Some("Authorization"), Some("")));
    let aws = |region| AuthAdditions {
        aws_signature: Some(AwsSignature { service: "s3", region }),
        ..AuthAdditions::default()
    };
    let hmac = AuthAdditions {
        hmac_signature: Some(HmacSignature {
            hash: Hash::Sha256,
            secret: SecretForm::Text,
            encoding: Encoding::Hex,
            text: vec![TextPart::Method, TextPart::Body],
            separator: "\n",
            timestamp: None,
            key_header: None,
        }),
        ..AuthAdditions::default()
    };
    let fixed = aws(Region::Fixed("us-east-1"));
    assert_eq!(broken(&signed(), &fixed), [""; 0]);
    assert_eq!(broken(&with(key(Some("X-Signature"), Some("HMAC "))), &hmac), [""; 0]);
    let one = |manifest: &Manifest<'_>, additions: &AuthAdditions<'_>, words: &str| {
        let found = broken(manifest, additions);
        assert!(matches!(found.as_slice(), [only] if only.contains(words)), "{words}: {found:?}");
    };
    for other in [Auth::None, Auth::Oauth2(oauth2()), Auth::ApiKey(key(None, None))] {
        one(&Manifest { auth: other, ..manifest() }, &fixed, "needs the auth scheme `api-key`");
    }
    let in_form = ApiKey { form_field: Some("token"), ..key(Some("X-Signature"), Some("")) };
    one(&with(in_form), &hmac, "needs the auth scheme `api-key`");
    one(&with(key(Some("X-Signature"), Some(""))), &fixed, "is `Authorization`");
    one(&with(key(Some("Authorization"), Some("AWS "))), &fixed, "is `Authorization`");
    one(&signed(), &AuthAdditions { hmac_signature: hmac.hmac_signature.clone(), ..fixed }, "one kind of signature");
    one(&signed(), &aws(Region::Fixed("US")), "1 to 64 characters");
    one(&signed(), &aws(Region::Part("region")), "the part of its region");
    let mut with_part = signed();
    with_part.upstream_additions.parts.push(Part {
        name: "region",
        title: "Region",
        form: PartForm::Label,
        max_length: 20,
        source: PartSource::User,
    });
    assert_eq!(broken(&with_part, &aws(Region::Part("region"))), [""; 0]);
}
