//! Fuzzes the rules of a manifest. The check must never panic. An accepted manifest must keep the
//! rules that the gateway relies on.
//!
//! Each line of the input is a part of an honest manifest and its new text: `identifier other`.

#![no_main]

use std::borrow::Cow;

use contract::{
    Additions, Answer, ApiKey, AuthScheme, AwsSignature, CredentialUse, DeclaredRow, Effect, HmacSignature, Identity,
    Imprint, KeyHeader, KeyPlacement, LastItem, Manifest, NextLink, NextPage, Oauth2, Operation, Pagination, Purpose,
    Revocation, Setting, Signature, Upstream, check,
};
use contract_rules::limit::ENDED_CODES;
use contract_rules::path;
use contract_rules::signature::{Encoding, Hash, Region, SecretForm, TextPart, is_name};
use libfuzzer_sys::fuzz_target;
use rows::{Declaration, DeclaredHeader, DefaultQuery, Encoding as PathEncoding, Field, Location, Method, Row};
use serde_json::Value;
use url::Url;

fuzz_target!(|text: &str| {
    let (mut manifest, mut additions) = (honest(), Additions::default());
    for line in text.lines() {
        let (part, value) = line.split_once(' ').unwrap_or((line, ""));
        change(&mut manifest, part, value);
        match part {
            "last_item" => additions.pages.push(LastItem { operation: value.to_owned(), more: None }),
            "more" => additions.pages.push(LastItem { operation: "list".to_owned(), more: Some(value.to_owned()) }),
            "ended_code" => additions.auth.ended_codes.push(value.to_owned()),
            part if part.starts_with("row_") => declare_row(&mut additions, part, value),
            part => declare(&mut additions, part, value),
        }
    }
    let violations = check(&manifest, &additions);
    assert!(violations.iter().all(|violation| !violation.to_string().is_empty()));
    if violations.is_empty() {
        assert_sound(&manifest);
        additions.rows.iter().for_each(assert_below_upstream);
        let codes = &additions.auth.ended_codes;
        assert!(
            codes.len() <= ENDED_CODES && codes.iter().all(|code| code.bytes().all(|byte| byte.is_ascii_graphic()))
        );
        additions.pages.iter().for_each(|declared| assert_leads_on(&manifest, declared));
        if let Some(Signature::Aws(AwsSignature { service, region: Region::Fixed(region) })) = &additions.auth.signature
        {
            assert!(is_name(service) && is_name(region), "{service} {region}");
        }
    }
});

/// Declares a signature of requests.
fn declare(additions: &mut Additions, part: &str, value: &str) {
    let text = value.to_owned();
    additions.auth.signature = Some(match part {
        "aws_service" => Signature::Aws(AwsSignature { service: text, region: Region::Fixed("eu".to_owned()) }),
        "aws_region" => Signature::Aws(AwsSignature { service: "s3".to_owned(), region: Region::Fixed(text) }),
        "aws_part" => Signature::Aws(AwsSignature { service: "s3".to_owned(), region: Region::Part(text) }),
        "hmac" => Signature::Hmac(HmacSignature {
            hash: Hash::Sha256,
            secret: SecretForm::Text,
            encoding: Encoding::Hex,
            text: vec![TextPart::Method, TextPart::Literal(text.clone())],
            separator: text.clone(),
            timestamp: None,
            key_header: Some(text),
        }),
        _ => return,
    });
}

/// Declares the operation as a row.
fn declare_row(additions: &mut Additions, part: &str, value: &str) {
    let mut row = match additions.rows.pop() {
        Some(declared) => declared.row,
        None => Declaration {
            fields: vec![Field::new("page", Location::Path(PathEncoding::Segment))],
            ..Declaration::new(Method::Post, "api", "/{page}")
        },
    };
    let text = value.to_owned();
    match part {
        "row_upstream" => row.upstream = text,
        "row_path" => row.path = text,
        "row_header" => row.headers.push(DeclaredHeader { name: text.clone(), value: text, when: Vec::new() }),
        "row_default" => {
            let name = text.split_once('=').map_or("", |(name, _)| name).to_owned();
            row.default_query.push(DefaultQuery { parameter: text.into(), unless: vec![Cow::Owned(name)].into() });
        }
        "row_body" => row.fixed_body = Some(text),
        "row_field" => row.fields[0].location = Location::Body(vec![Cow::Owned(text)].into()),
        _ => row.fields[0].location = Location::Query(text.into()),
    }
    additions.rows.push(DeclaredRow { operation: "list".to_owned(), row, purpose: Purpose::Sent });
}

/// The operation of a last item has a cursor, and the pointer to `more` can be shown.
fn assert_leads_on(manifest: &Manifest, declared: &LastItem) {
    let operation = manifest.operations.iter().find(|operation| operation.path == declared.operation);
    let pages = operation.and_then(|operation| operation.pagination.as_ref());
    assert!(matches!(pages, Some(Pagination { next: NextPage::Cursor(_), .. })), "{declared:?}");
    assert!(declared.more.as_ref().is_none_or(|more| more.starts_with('/') && !more.contains(char::is_control)));
}

/// No value of a caller leads the request of a row to another place than its template.
fn assert_below_upstream(declared: &DeclaredRow) {
    let row = Row::of(&declared.row);
    assert!(!row.to_string().contains(char::is_control));
    for value in ["a", "..", "%2e%2e", "/", "//evil.example", "?a=b#c", "\u{0}", "\r\nHost: b", ""] {
        let input = serde_json::json!({ "page": value }).to_string();
        if let Ok(request) = row.request(&input, &NoSettings) {
            let sound = path::check(&request.path).is_ok() || value.contains('\u{0}') || value.contains('\r');
            assert!(sound || request.path.len() > 16 << 10, "{}", request.path);
        }
    }
}

struct NoSettings;

impl rows::Settings for NoSettings {
    fn get(&self, _: &str) -> Option<Cow<'_, str>> {
        None
    }
}

/// Checks what other parts of the gateway take for granted.
fn assert_sound(manifest: &Manifest) {
    let is_name = |name: &str| {
        (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    assert!(is_name(&manifest.identifier), "{}", manifest.identifier);
    for upstream in &manifest.upstreams {
        assert!(is_name(&upstream.name), "{}", upstream.name);
        let is_relative = upstream.base_url.starts_with('{');
        let is_http = Url::parse(&upstream.base_url).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.username().is_empty()
        });
        assert!(upstream.base_url.is_empty() || is_relative || is_http, "{}", upstream.base_url);
    }
    for operation in &manifest.operations {
        assert!(is_name(&operation.path), "{}", operation.path);
        let schema: Value = serde_json::from_str(&operation.input_schema).expect("a schema is JSON");
        assert_eq!(schema["type"], "object");
        let example = operation.example.as_deref().unwrap_or("{}");
        assert!(serde_json::from_str::<Value>(example).is_ok_and(|example| example.is_object()), "{example}");
    }
}

fn change(manifest: &mut Manifest, part: &str, value: &str) {
    let text = value.to_owned();
    let (upstream, operation) = (&mut manifest.upstreams[0], &mut manifest.operations[0]);
    match part {
        "identifier" => manifest.identifier = text,
        "version" => manifest.version = text,
        "title" => manifest.title = text,
        "description" => manifest.description = text,
        "license" => manifest.imprint.license = text,
        "homepage" => manifest.imprint.homepage = Some(text),
        "author" => manifest.imprint.author = Some(text),
        "icon" => manifest.imprint.icon = Some(text),
        "upstream" => upstream.name = text,
        "base_url" => upstream.base_url = text,
        "link_host" => upstream.link_hosts.push(text),
        "credential" => upstream.credential = CredentialUse::None,
        "form_credential" => upstream.credential = CredentialUse::FormField,
        "another_upstream" => {
            let another = Upstream { name: text, base_url: "{api}/more".to_owned(), ..upstream.clone() };
            manifest.upstreams.push(another);
        }
        "operation" => operation.path = text,
        "schema" => operation.input_schema = text,
        "example" => operation.example = Some(text),
        "answer_schema" => operation.answer_schema = Some(text),
        "answer_example" => operation.answer_example = Some(text),
        "background" => operation.background = true,
        "rate_limit" => operation.rate_limit = Some(text),
        "cursor" => operation.pagination = Some(pagination(NextPage::Cursor(text))),
        "link" => {
            let link = NextLink { pointer: "/next".to_owned(), parameter: text };
            operation.pagination = Some(pagination(NextPage::Link(link)));
        }
        "setting" => manifest.settings.push(setting(text, "{}")),
        "setting_schema" => manifest.settings.push(setting("size".to_owned(), value)),
        "no_auth" => manifest.auth = AuthScheme::None,
        "key_header" => manifest.auth = key(KeyPlacement::Header(KeyHeader { name: text, prefix: String::new() })),
        "key_query" => manifest.auth = key(KeyPlacement::Query(text)),
        "key_basic" => manifest.auth = key(KeyPlacement::Basic),
        _ => {
            if let AuthScheme::Oauth2(oauth2) = &mut manifest.auth {
                change_oauth2(oauth2, part, text);
            }
        }
    }
}

fn change_oauth2(oauth2: &mut Oauth2, part: &str, text: String) {
    match part {
        "provider" => oauth2.provider = text,
        "authorization_url" => oauth2.authorization_url = text,
        "token_url" => oauth2.token_url = text,
        "refresh_url" => oauth2.refresh_url = Some(text),
        "revocation" => oauth2.revocation = Some(Revocation::Form(text)),
        "deletion" => oauth2.revocation = Some(Revocation::Delete(text)),
        "scope" => oauth2.scopes.push(text),
        "scope_separator" => oauth2.scope_separator = text,
        "scope_parameter" => oauth2.scope_parameter = text,
        "authorization_parameter" => oauth2.authorization_parameters.push((text.clone(), text)),
        "token_parameter" => oauth2.token_parameters.push((text.clone(), text)),
        "token_pointer" => oauth2.token_pointer = text,
        "form_field" => oauth2.form_field = Some(text),
        "identity" => {
            let pointer = "/id".to_owned();
            oauth2.identity = Some(Identity { operation: text, id: pointer, email: None, name: None });
        }
        _ => {}
    }
}

fn pagination(next: NextPage) -> Pagination {
    Pagination { items: "/items".to_owned(), next, input: "/page".to_owned() }
}

fn setting(name: String, schema: &str) -> Setting {
    Setting { name, schema: schema.to_owned(), default: None, documentation: String::new() }
}

fn key(placement: KeyPlacement) -> AuthScheme {
    AuthScheme::ApiKey(ApiKey { placement, form_field: None, check: None })
}

/// A manifest that breaks no rule.
fn honest() -> Manifest {
    let schema =
        r#"{"type":"object","properties":{"page":{},"waiting":{"type":"boolean"}},"additionalProperties":false}"#;
    Manifest {
        identifier: "example".to_owned(),
        version: "1.0.0".to_owned(),
        title: "Example".to_owned(),
        description: String::new(),
        imprint: Imprint { license: "MIT".to_owned(), homepage: None, author: None, icon: None },
        auth: AuthScheme::Oauth2(Oauth2 {
            provider: "example_provider".to_owned(),
            authorization_url: "https://accounts.example.com/authorize".to_owned(),
            token_url: "https://accounts.example.com/token".to_owned(),
            scopes: vec!["read".to_owned()],
            ..contract::sample::scheme()
        }),
        upstreams: vec![Upstream {
            name: "api".to_owned(),
            base_url: "https://api.example.com".to_owned(),
            credential: CredentialUse::Standard,
            link_hosts: Vec::new(),
            pacing: None,
        }],
        rate_limits: Vec::new(),
        settings: Vec::new(),
        operations: vec![Operation {
            path: "list".to_owned(),
            summary: "List".to_owned(),
            description: String::new(),
            input_schema: schema.to_owned(),
            example: None,
            envelope: true,
            effect: Effect::Read,
            answer: Answer::Json,
            answer_schema: None,
            answer_example: None,
            pagination: None,
            background: false,
            immediate: true,
            rate_limit: None,
        }],
    }
}
