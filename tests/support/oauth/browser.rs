//! A person at a browser: reads the provider's page, and sends its form. Redirects are followed by hand, since each step is
//! what a test looks at.

use std::sync::OnceLock;

use super::Account;
use crate::{Answer, Client};

/// A person with an account at the provider.
#[derive(Clone, Debug)]
pub struct Person {
    account: Account,
}

impl Person {
    /// A person by its account's name.
    pub fn named(name: &str) -> Self {
        Self { account: Account::named(name) }
    }

    /// Its account.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Opens the provider's page and consents. Gives where the browser is led: the gateway's callback, with a code.
    ///
    /// # Panics
    /// When the provider refuses.
    #[track_caller]
    pub fn consents(&self, authorization_url: &str) -> String {
        self.decides(authorization_url, "allow")
    }

    /// Opens the provider's page and declines. Gives where the browser is led.
    ///
    /// # Panics
    /// When the provider refuses.
    #[track_caller]
    pub fn declines(&self, authorization_url: &str) -> String {
        self.decides(authorization_url, "deny")
    }

    #[track_caller]
    fn decides(&self, authorization_url: &str, decision: &str) -> String {
        let page = open(authorization_url);
        assert_eq!(page.status, 200, "the provider shows its page: {}", page.text());
        let text = page.text();
        let ticket = text.split("name=\"ticket\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let ticket = ticket.expect("the page has a form");
        let origin = authorization_url.split("/authorize").next().unwrap_or_default();
        let form = format!("ticket={ticket}&decision={decision}&account={}", self.account.name.to_lowercase());
        let browser = browser(origin).request("POST", "/consent");
        let led = browser.header("content-type", "application/x-www-form-urlencoded").body(form).send();
        assert_eq!(led.status, 302, "{}", led.text());
        led.header("location").to_owned()
    }
}

/// Opens an address, and gives what is there: a redirect is not followed.
pub fn open(url: &str) -> Answer {
    browser(url).get("")
}

fn browser(base: &str) -> Client {
    static BROWSER: OnceLock<Client> = OnceLock::new();
    BROWSER.get_or_init(|| Client::new("").without_redirects()).at(base)
}
