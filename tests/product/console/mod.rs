//! The console of operators: its sessions, and its screens in a browser.

mod browser;
mod oidc;
mod sessions;

use serde_json::{Value, json};
use support::setup::KEY;
use support::{Answer, Call, Client, Gateway};

/// A text that would change the title of the page if it were ever taken for HTML.
const HOSTILE: &str = "<img src=x onerror=\"document.title='taken'\">";

/// A walk through the console has seen no fault of the page.
#[track_caller]
fn assert_no_fault(seen: &Value) {
    for nothing in ["violations", "wide", "broken", "errors", "policy", "elements", "elsewhere", "unreached"] {
        assert_eq!(seen[nothing], json!([]), "{nothing}: {seen:#}");
    }
}

/// A browser of an operator, as far as it is headers: it sends its cookie, and says that the page
/// of the gateway has sent the request.
struct Operator {
    client: Client,
    cookie: String,
}

impl Operator {
    /// Signs in with a key.
    #[track_caller]
    fn sign_in(gateway: &Gateway, key: &str) -> Self {
        let answer = try_sign_in(gateway, key);
        assert_eq!(answer.status, 201, "{}", answer.text());
        let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
        Self { client: gateway.anonymous(), cookie }
    }

    /// The same browser at another gateway.
    fn at(&self, gateway: &Gateway) -> Self {
        Self { client: gateway.anonymous(), cookie: self.cookie.clone() }
    }

    fn get(&self, path: &str) -> Answer {
        self.client.request("GET", path).header("cookie", &self.cookie).header("sec-fetch-site", "same-origin").send()
    }

    /// A change, as the page sends it.
    fn change(&self, method: &str, path: &str) -> Call {
        self.bare(method, path).header("sec-fetch-site", "same-origin").header("x-console", "1")
    }

    /// A request with the cookie alone.
    fn bare(&self, method: &str, path: &str) -> Call {
        self.client.request(method, path).header("cookie", &self.cookie)
    }
}

fn try_sign_in(gateway: &Gateway, key: &str) -> Answer {
    let call = gateway.anonymous().request("POST", "/console/session");
    call.header("authorization", &format!("Bearer {key}")).header("sec-fetch-site", "same-origin").send()
}

fn operator(gateway: &Gateway) -> Operator {
    Operator::sign_in(gateway, KEY)
}
