use contract::{Answer, Imprint};

use super::*;

fn oauth2() -> Oauth2 {
    Oauth2 {
        authorization_url: "https://accounts.example/authorize".to_owned(),
        token_url: "https://accounts.example/token".to_owned(),
        scopes: vec!["read".to_owned()],
        authorization_parameters: vec![("prompt".to_owned(), "consent".to_owned())],
        ..contract::sample::scheme()
    }
}

fn upstream() -> Upstream {
    Upstream {
        name: "api".to_owned(),
        base_url: "https://api.example/v1".to_owned(),
        credential: CredentialUse::Standard,
        link_hosts: Vec::new(),
        pacing: None,
    }
}

fn operation(path: &str, effect: Effect) -> Operation {
    Operation {
        path: path.to_owned(),
        summary: String::new(),
        description: String::new(),
        input_schema: String::new(),
        example: None,
        envelope: false,
        effect,
        answer: Answer::Json,
        answer_schema: None,
        answer_example: None,
        pagination: None,
        background: false,
        immediate: false,
        rate_limit: None,
    }
}

fn manifest(auth: AuthScheme, upstream: Upstream) -> Manifest {
    Manifest {
        identifier: "demo".to_owned(),
        version: "1.0.0".to_owned(),
        title: String::new(),
        description: String::new(),
        imprint: Imprint { license: String::new(), homepage: None, author: None, icon: None },
        auth,
        upstreams: vec![upstream],
        rate_limits: Vec::new(),
        settings: Vec::new(),
        operations: Vec::new(),
    }
}

/// The permissions that the second manifest requests and the first one does not.
fn more(first: &Manifest, second: &Manifest) -> Vec<String> {
    let permissions = |manifest| Permissions { others: others(manifest, [].into_iter()), ..Permissions::default() };
    permissions(second).beyond(&permissions(first), &[])
}

#[track_caller]
fn assert_asks(second: &Manifest, expected: &str) {
    let asked = more(&manifest(AuthScheme::Oauth2(oauth2()), upstream()), second);
    assert_eq!(asked, [expected]);
}

#[test]
fn each_member_of_the_scheme_that_changes_alone_is_asked_for() {
    let text = str::to_owned;
    type Change = Box<dyn Fn(&mut Oauth2)>;
    let identity = |email: Option<&str>| Identity {
        operation: "me".to_owned(),
        id: "/id".to_owned(),
        email: email.map(str::to_owned),
        name: None,
    };
    let changes: Vec<(Change, &str)> = vec![
        (Box::new(move |scheme| scheme.provider = text("other")), "client credentials of provider other"),
        (
            Box::new(move |scheme| scheme.authorization_url = text("https://accounts.example/authorize?scope=all")),
            "authorization at https://accounts.example/authorize?scope=all",
        ),
        (
            Box::new(move |scheme| scheme.token_url = text("https://accounts.example/other")),
            "tokens from https://accounts.example/other",
        ),
        (
            Box::new(move |scheme| scheme.refresh_url = Some(text("https://accounts.example/refresh"))),
            "refreshed tokens from https://accounts.example/refresh",
        ),
        (
            Box::new(move |scheme| scheme.revocation = Some(Revocation::Bearer(text("https://accounts.example/end")))),
            "revocation with the access token at https://accounts.example/end",
        ),
        (Box::new(move |scheme| scheme.scopes.push(text("write"))), "scope write"),
        (
            Box::new(move |scheme| scheme.scope_parameter = text("user_scope")),
            "scopes in parameter user_scope, separated by ` `",
        ),
        (Box::new(move |scheme| scheme.scope_separator = text(",")), "scopes in parameter scope, separated by `,`"),
        (
            Box::new(move |scheme| scheme.authorization_parameters.push((text("user_scope"), text("admin")))),
            "authorization parameters prompt=consent&user_scope=admin",
        ),
        (Box::new(|scheme| scheme.authorization_parameters.clear()), "authorization parameters none"),
        (
            Box::new(move |scheme| scheme.token_parameters.push((text("audience"), text("all")))),
            "token parameters audience=all",
        ),
        (Box::new(|scheme| scheme.pkce = false), "authorization without PKCE"),
        (Box::new(|scheme| scheme.client_authentication = ClientAuthentication::Basic), "client secret in the header"),
        (Box::new(move |scheme| scheme.token_pointer = text("/authed_user")), "access token at `/authed_user`"),
        (Box::new(|scheme| scheme.default_lifetime_seconds = Some(60)), "lifetime of tokens 60 s"),
        (Box::new(move |scheme| scheme.form_field = Some(text("token"))), "the user's token in form field token"),
        (Box::new(|scheme| scheme.revokes_replaced_grants = true), "revocation of replaced tokens"),
        (
            Box::new(move |scheme| scheme.identity = Some(identity(Some("/email")))),
            "identity of accounts from operation me: `/id`, `/email`, `-`",
        ),
    ];
    for (change, expected) in changes {
        let mut scheme = oauth2();
        change(&mut scheme);
        assert_asks(&manifest(AuthScheme::Oauth2(scheme), upstream()), expected);
    }
}

#[test]
fn each_part_of_a_base_url_and_the_use_of_the_credential_are_asked_for() {
    for base_url in [
        "http://api.example/v1",
        "https://other.example/v1",
        "https://api.example:8443/v1",
        "https://api.example",
        "https://api.example/v2",
        "{other}/v1",
    ] {
        let changed = Upstream { base_url: base_url.to_owned(), ..upstream() };
        let expected = format!("requests to upstream api at {base_url}");
        assert_asks(&manifest(AuthScheme::Oauth2(oauth2()), changed), &expected);
    }
    let form = Upstream { credential: CredentialUse::FormField, ..upstream() };
    assert_asks(
        &manifest(AuthScheme::Oauth2(oauth2()), form),
        "the user's credential for upstream api, in a form field",
    );
    let same = Upstream { base_url: "https://API.example:443/v1/".to_owned(), ..upstream() };
    let first = manifest(AuthScheme::Oauth2(oauth2()), upstream());
    assert!(more(&first, &manifest(AuthScheme::Oauth2(oauth2()), same)).is_empty());
    let without = Upstream { credential: CredentialUse::None, ..upstream() };
    let without = manifest(AuthScheme::Oauth2(oauth2()), without);
    assert_eq!(more(&without, &first), ["the user's credential for upstream api"]);
    assert!(more(&first, &without).is_empty());
}

#[test]
fn each_member_of_a_key_is_asked_for() {
    let key = |placement, form_field: Option<&str>, check: Option<&str>| {
        let [form_field, check] = [form_field, check].map(|name| name.map(str::to_owned));
        manifest(AuthScheme::ApiKey(ApiKey { placement, form_field, check }), upstream())
    };
    let header =
        |name: &str, prefix: &str| KeyPlacement::Header(KeyHeader { name: name.to_owned(), prefix: prefix.to_owned() });
    let first = key(header("X-Key", ""), None, None);
    for (second, expected) in [
        (key(header("X-Other", ""), None, None), "the user's key in header X-Other ``"),
        (key(header("X-Key", "Token "), None, None), "the user's key in header X-Key `Token `"),
        (key(KeyPlacement::Query("key".to_owned()), None, None), "the user's key in query parameter key"),
        (key(KeyPlacement::Basic, None, None), "the user's name and password"),
        (key(header("X-Key", ""), Some("token"), None), "the user's key in form field token"),
        (key(header("X-Key", ""), None, Some("me")), "test of keys by operation me"),
    ] {
        assert_eq!(more(&first, &second), [expected]);
    }
}

#[test]
fn only_destructive_operations_that_are_new_are_asked_for() {
    let manifest = manifest(AuthScheme::None, upstream());
    let with = |operations: &[Operation]| Permissions {
        others: others(&manifest, operations.iter()),
        ..Permissions::default()
    };
    let first = with(&[operation("purge", Effect::Write), operation("list", Effect::Read)]);
    let [destructive, write] = [Effect::Destructive, Effect::Write]
        .map(|effect| with(&[operation("purge", effect), operation("list", effect)]));
    assert_eq!(destructive.beyond(&first, &[]), ["destructive operation list", "destructive operation purge"]);
    assert!(write.beyond(&first, &[]).is_empty());
    assert!(first.beyond(&destructive, &[]).is_empty());
}

#[test]
fn hosts_are_asked_for_unless_they_are_granted() {
    let with = |hosts: &[&str]| Permissions {
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        ..Permissions::default()
    };
    let (first, second) = (with(&["a.example"]), with(&["a.example", "b.example", "c.example"]));
    assert_eq!(second.beyond(&first, &["c.example".to_owned()]), ["host b.example"]);
    assert!(first.beyond(&second, &[]).is_empty());
}

#[test]
fn the_application_s_token_and_the_scopes_of_events_are_permissions() {
    let mut inbox = contract::sample::inbox("events");
    inbox.visibility = Some(contract::trigger_types::Visibility {
        upstream: "api".to_owned(),
        path: "/viewers".to_owned(),
        context: "/context".to_owned(),
        parameter: "context".to_owned(),
        accounts: "/accounts".to_owned(),
        cursor: ("/next".to_owned(), "cursor".to_owned()),
    });
    let mut trigger = contract::sample::trigger("message");
    trigger.scopes = vec!["messages".to_owned()];
    let additions = Additions { inboxes: vec![inbox], triggers: vec![trigger], ..Additions::default() };
    let mut lines = BTreeSet::new();
    of_additions(&additions, &mut lines);
    let lines: Vec<String> = lines.into_iter().collect();
    assert_eq!(lines, ["scope messages", "the application's token for upstream api, at /viewers"]);
}
