//! Notifications with a token of an issuer. The keys of the issuer are fetched outside of the
//! requests.

use support::jwt::{SigningKey, publish};
use support::{Reply, Upstream};

use super::*;

const ACCOUNT: &str = "push@project.example";

struct World {
    gateway: Gateway,
    issuer: Upstream,
    inbox: Inbox,
    key: SigningKey,
}

impl World {
    fn start() -> Self {
        let (issuer, key) = (Upstream::start(), SigningKey::es256("one"));
        publish(&issuer, &[&key]);
        let gateway = setup()
            .config(&format!(
                "[connectors.notified]\nallow_private_network = true\nhooks.jwks_url = \"{}/jwks.json\"\n\
                 settings.push_account = \"{ACCOUNT}\"",
                issuer.url()
            ))
            .start();
        let inbox = Inbox::of(&gateway, "tokens", None);
        Self { gateway, issuer, inbox, key }
    }

    fn claims(&self) -> Value {
        json!({
            "iss": "https://id.example", "aud": self.inbox.url, "exp": at(300), "email": ACCOUNT, "email_verified": true,
        })
    }

    fn push(&self, token: &str) -> Answer {
        let data = STANDARD.encode(json!({"kind": "mail", "user": "nobody"}).to_string());
        let body = json!({"message": {"data": data, "messageId": "1"}, "subscription": "s"}).to_string();
        let call = self.gateway.anonymous().request("POST", &self.inbox.path);
        call.header("authorization", &format!("Bearer {token}")).body(body).send()
    }

    /// Sends a right notification until the keys are known.
    fn wait_for_keys(&self, key: &SigningKey) {
        wait_for("the keys", || (self.push(&key.sign(&self.claims())).status == 200).then_some(()));
    }
}

#[test]
fn keys_are_fetched_once_in_the_background() {
    let world = World::start();
    let first = world.push(&world.key.sign(&world.claims()));
    assert_eq!((first.status, first.text().as_str()), (503, "{}"), "the service sends it again");
    assert!(!first.header("retry-after").is_empty());
    world.wait_for_keys(&world.key);
    for _ in 0..5 {
        assert_eq!(world.push(&world.key.sign(&world.claims())).status, 200);
    }
    assert_eq!(world.issuer.seen().len(), 1);
}

#[test]
fn only_a_token_of_the_issuer_for_this_address_is_accepted() {
    let world = World::start();
    world.wait_for_keys(&world.key);
    let with = |name: &str, value: Value| {
        let mut claims = world.claims();
        claims[name] = value;
        world.key.sign(&claims)
    };
    let other = SigningKey::es256("one");
    let cases = [
        ("another key", other.sign(&world.claims()), "wrong-signature"),
        ("another algorithm", SigningKey::ed25519("one").sign(&world.claims()), "unreadable-token"),
        ("another issuer", with("iss", json!("https://evil.example")), "wrong-issuer"),
        ("another address", with("aud", json!(format!("{PUBLIC}/hooks/other"))), "wrong-audience"),
        ("expired", with("exp", json!(at(-120))), "too-old"),
        ("another account", with("email", json!("evil@project.example")), "wrong-claim"),
        ("not verified", with("email_verified", json!(false)), "wrong-claim"),
        ("no token", String::new(), "unreadable-token"),
        ("no JWT", "cgw_key".to_owned(), "unreadable-token"),
    ];
    for (what, token, _) in &cases {
        let answer = world.push(token);
        assert_eq!((answer.status, answer.text().as_str()), (401, "{}"), "{what}");
    }
    // Before the keys were known, others were refused too.
    wait_for("the reasons", || {
        let path = format!("/admin/hook-requests?inbox={}&outcome=rejected&limit={}", world.inbox.id, cases.len());
        let listed = world.gateway.client().get(&path).ok();
        let reasons: Vec<&Value> = listed["hook_requests"].as_array()?.iter().map(|record| &record["reason"]).collect();
        reasons.iter().rev().eq(cases.iter().map(|(_, _, reason)| reason)).then_some(())
    });
}

#[test]
fn a_key_that_the_issuer_does_not_have_is_looked_for_once_a_minute() {
    let world = World::start();
    world.wait_for_keys(&world.key);
    let new = SigningKey::es256("two");
    for _ in 0..5 {
        assert_eq!(world.push(&new.sign(&world.claims())).status, 401, "the keys were fetched a moment ago");
    }
    assert_eq!(world.issuer.seen().len(), 1);
}

#[test]
fn an_issuer_that_cannot_be_reached_loses_no_notification() {
    let world = World::start();
    world.issuer.reply("/jwks.json", Reply::empty(500));
    for _ in 0..3 {
        assert_eq!(world.push(&world.key.sign(&world.claims())).status, 503);
    }
}
