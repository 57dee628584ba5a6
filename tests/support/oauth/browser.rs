//! A person at a browser: opens the provider's page and sends its form. No redirect is followed,
//! because tests look at each step.

use std::sync::OnceLock;

use super::Account;
use crate::{Answer, Client, encoding};

/// A person with an account at the provider.
#[derive(Clone, Debug)]
pub struct Person {
    account: Account,
}

impl Person {
    /// A person by the account's name.
    pub fn named(name: &str) -> Self {
        Self { account: Account::named(name) }
    }

    /// The person's account.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Opens the provider's page and consents. Returns the URL that the browser is redirected to:
    /// the gateway's callback with a code.
    ///
    /// # Panics
    /// When the provider refuses the request.
    #[track_caller]
    pub fn consents(&self, authorization_url: &str) -> String {
        self.decides(authorization_url, "allow")
    }

    /// Opens the provider's page and declines. Returns the URL that the browser is redirected to.
    ///
    /// # Panics
    /// When the provider refuses the request.
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
        let account = self.account.name.to_lowercase();
        let form = encoding::to_form(&[("ticket", ticket), ("decision", decision), ("account", &account)]);
        let browser = browser(origin).request("POST", "/consent");
        let redirected = browser.header("content-type", "application/x-www-form-urlencoded").body(form).send();
        assert_eq!(redirected.status, 302, "{}", redirected.text());
        redirected.header("location").to_owned()
    }
}

/// Opens a URL and returns the answer. A redirect is not followed.
pub fn open(url: &str) -> Answer {
    browser(url).get("")
}

fn browser(base: &str) -> Client {
    static BROWSER: OnceLock<Client> = OnceLock::new();
    BROWSER.get_or_init(|| Client::new("").without_redirects()).at(base)
}
