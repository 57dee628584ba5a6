//! Inboxes and their checks.

use super::*;

#[track_caller]
fn only_inbox(change: impl FnOnce(&mut Inbox), part: &str, rule: &str) {
    only(|declared| change(&mut declared.inboxes[1]), &format!("inbox `hook`, {part}"), rule);
}

#[track_caller]
fn only_check(check: Check, part: &str, rule: &str) {
    only_inbox(|inbox| inbox.checks = vec![check], &format!("check {part}"), rule);
}

#[test]
fn an_inbox_has_its_parts_in_their_limits() {
    only_inbox(|inbox| inbox.checks.clear(), "checks", "1 to 4 checks");
    only_inbox(|inbox| inbox.checks = vec![Check::Token(header("X-A")); 5], "checks", "1 to 4 checks");
    only_inbox(|inbox| inbox.handshakes = vec![Handshake::EchoQuery("a".to_owned()); 5], "handshakes", "at most 4");
    only_inbox(|inbox| inbox.id.clear(), "id", "1 to 8");
    only_inbox(|inbox| inbox.id = vec![Place::BodyHash; 9], "id", "1 to 8");
    only_inbox(|inbox| inbox.kind.clear(), "kind", "1 to 4");
    only_inbox(|inbox| inbox.kind = vec![Place::BodyHash], "kind", "for ids only");
    only_inbox(|inbox| inbox.time = Some(Place::BodyHash), "time", "for ids only");
    only_inbox(|inbox| inbox.max_body = 1023, "max-body", "1024 to 26214400");
    only_inbox(|inbox| inbox.max_body = 26_214_401, "max-body", "1024 to 26214400");
    only_inbox(|inbox| inbox.ignored = texts(65), "ignored", "at most 64");
    only_inbox(|inbox| inbox.ignored = vec![String::new()], "ignored", "not empty");
    only_inbox(|inbox| inbox.ignored.push("ping".to_owned()), "ignored `ping`", "twice");
    only_inbox(|inbox| inbox.lifecycle = vec![("gone".to_owned(), Lifecycle::Gone); 2], "lifecycle `gone`", "twice");
    only_inbox(|inbox| inbox.lifecycle = vec![("ping".to_owned(), Lifecycle::Read)], "lifecycle `ping`", "ignored");
}

#[test]
fn places_have_the_form_of_their_kind() {
    only_inbox(|inbox| inbox.decode = Some("message".to_owned()), "decode", "begins with `/`");
    only_inbox(|inbox| inbox.items = Some("/a~2".to_owned()), "items", "`~0`");
    only_inbox(|inbox| inbox.data = "/a\nb".to_owned(), "data", "line break");
    only_inbox(|inbox| inbox.data = format!("/{}", "a".repeat(256)), "data", "at most 256 bytes");
    only_inbox(|inbox| inbox.id = vec![header("X Id")], "id", "name of a header");
    let field = |name: &str, field: &str| Place::HeaderField((name.to_owned(), field.to_owned()));
    only_inbox(|inbox| inbox.id = vec![field("X-Sig", "t=")], "id", "no `=`");
    only_inbox(|inbox| inbox.id = vec![field("X:", "t")], "id", "name of a header");
    only_inbox(|inbox| inbox.id = vec![Place::Query(String::new())], "id", "not empty");
}

#[test]
fn only_an_inbox_of_an_application_names_accounts() {
    let key = || AccountKey { place: to("/team_id"), account: "/team".to_owned() };
    only_inbox(|inbox| inbox.accounts.push(key()), "accounts", "no account keys");
    let of_app = |change: fn(&mut Inbox), part: &str, rule: &str| {
        only(|all| change(&mut all.inboxes[0]), &format!("inbox `app`, {part}"), rule);
    };
    of_app(|inbox| inbox.accounts.clear(), "accounts", "1 to 4 account keys");
    of_app(|inbox| inbox.accounts[0].account = "team".to_owned(), "accounts", "begins with `/`");
    of_app(|inbox| inbox.accounts[0].place = Place::BodyHash, "accounts", "for ids only");
    only(
        |all| all.manifest.auth = Auth::Oauth2(Oauth2 { identity: None, ..oauth2() }),
        "inbox `app`, accounts",
        "`identity` or `check`",
    );
}

#[test]
fn visibility_is_a_request_to_an_upstream() {
    only_inbox(|inbox| inbox.visibility = Some(visibility()), "visibility", "of an application");
    let of_app = |change: fn(&mut Visibility), rule: &str| {
        let mut declared = visibility();
        change(&mut declared);
        only(|all| all.inboxes[0].visibility = Some(declared), "inbox `app`, visibility", rule);
    };
    of_app(|declared| declared.upstream = "apis".to_owned(), "no upstream `apis`");
    of_app(|declared| declared.path = "list".to_owned(), "begins with `/`");
    of_app(|declared| declared.path = "/list?a=1".to_owned(), "no query");
    of_app(|declared| declared.context = "context".to_owned(), "begins with `/`");
    of_app(|declared| declared.parameter.clear(), "not empty");
    of_app(|declared| declared.accounts = "a".to_owned(), "begins with `/`");
    of_app(|declared| declared.cursor.0 = "a".to_owned(), "begins with `/`");
    of_app(|declared| declared.cursor.1.clear(), "not empty");
}

#[test]
fn each_mistake_of_an_hmac_is_found() {
    let broken = |change: fn(&mut HmacCheck), part: &str, rule: &str| {
        let mut declared = hmac();
        change(&mut declared);
        only_check(Check::Hmac(declared), &format!("`hmac`{part}"), rule);
    };
    broken(|hmac| hmac.text.retain(|part| *part != CheckPart::Body), "", "`body` once");
    broken(|hmac| hmac.text.push(CheckPart::Body), "", "`body` once");
    broken(|hmac| hmac.text.extend(vec![CheckPart::Timestamp; 14]), "", "1 to 16 parts");
    broken(|hmac| hmac.timestamp = None, "", "if, and only if");
    broken(|hmac| hmac.text = vec![CheckPart::Body], "", "if, and only if");
    broken(|hmac| hmac.timestamp = Some(to("/t")), ", timestamp", "in a header");
    broken(|hmac| hmac.signature = to("/s"), ", signature", "in a header");
    broken(|hmac| hmac.signature = header(""), ", signature", "name of a header");
    broken(|hmac| hmac.text.push(CheckPart::Header("X:".to_owned())), "", "name of a header");
    broken(|hmac| hmac.text.push(CheckPart::Literal("x".repeat(257))), "", "at most 256 bytes");
    broken(|hmac| hmac.separator = "x".repeat(257), ", separator", "at most 256 bytes");
    broken(|hmac| hmac.prefix = "a\n".to_owned(), ", prefix", "line break");
    broken(|hmac| hmac.list_separator = Some(String::new()), ", list-separator", "not empty");
    broken(|hmac| hmac.tolerance_seconds = 0, ", tolerance-seconds", "1 to 3600");
    broken(|hmac| hmac.tolerance_seconds = 3601, ", tolerance-seconds", "1 to 3600");
}

#[test]
fn each_mistake_of_a_token_is_found() {
    only_check(Check::Token(Place::BodyHash), "`token`", "no hash");
    only_check(Check::Token(header("X:")), "`token`", "name of a header");
    let broken = |change: fn(&mut JwtCheck), part: &str, rule: &str| {
        let mut declared = jwt();
        change(&mut declared);
        only_check(Check::Jwt(declared), &format!("`jwt`, {part}"), rule);
    };
    broken(|jwt| jwt.place = to("/token"), "place", "in a header");
    broken(|jwt| jwt.issuers.clear(), "issuers", "1 to 4");
    broken(|jwt| jwt.issuers = vec![String::new()], "issuer", "not empty");
    broken(|jwt| jwt.jwks_url = "http://acme.example/certs".to_owned(), "jwks-url", "https://");
    broken(|jwt| jwt.audience = JwtAudience::Setting("aud".to_owned()), "audience", "no setting `aud`");
    broken(|jwt| jwt.claims = vec![("a".to_owned(), Claim::Setting("b".to_owned()))], "claim `a`", "no setting `b`");
    broken(|jwt| jwt.claims = vec![("a".to_owned(), Claim::Literal("b".to_owned())); 2], "claim `a`", "twice");
    broken(|jwt| jwt.claims = vec![(String::new(), Claim::Literal("b".to_owned()))], "claim", "not empty");
}

#[test]
fn handshakes_name_what_they_answer() {
    let broken = |handshake: Handshake, rule: &str| {
        only_inbox(|inbox| inbox.handshakes.push(handshake), "handshake", rule);
    };
    broken(Handshake::EchoQuery(String::new()), "not empty");
    let member = |pointer: &str, text: &str, member: &str| {
        Handshake::EchoMember(EchoMember { when: (pointer.to_owned(), text.to_owned()), member: member.to_owned() })
    };
    broken(member("type", "url_verification", "/challenge"), "begins with `/`");
    broken(member("/type", "", "/challenge"), "not empty");
    broken(member("/type", "url_verification", "challenge"), "begins with `/`");
    let hmac = |parameter: &str, member: &str, prefix: &str| {
        Handshake::HmacQuery(HmacQuery {
            parameter: parameter.to_owned(),
            hash: CheckHash::Sha256,
            secret: CheckSecret::Text,
            encoding: CheckEncoding::Base64,
            member: member.to_owned(),
            prefix: prefix.to_owned(),
        })
    };
    broken(hmac("", "response_token", ""), "not empty");
    broken(hmac("crc_token", "", ""), "not empty");
    broken(hmac("crc_token", "response_token", "\n"), "line break");
    only(
        |all| all.inboxes[0].handshakes.push(Handshake::EchoQuery("token".to_owned())),
        "inbox `app`, handshake",
        "inbox of a subscription",
    );
}
