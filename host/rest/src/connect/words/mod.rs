//! Every text of the pages for end users. Each language is a file.

mod english;
mod german;

use hyper::header::{ACCEPT_LANGUAGE, HeaderMap};

use contract::Effect;

pub(super) use self::english::ENGLISH;
use self::german::GERMAN;

/// The languages. The first one is for browsers that ask for none of them.
const LANGUAGES: [&Words; 2] = [&ENGLISH, &GERMAN];

/// The texts in one language.
pub(crate) struct Words {
    /// The language, as RFC 5646 names it.
    pub(super) language: &'static str,
    pub(super) title: &'static str,
    /// The application that asks, if the operator does not say its name.
    pub(super) an_application: &'static str,
    /// After the name of the application.
    pub(super) introduction: &'static str,
    /// Before and after the title of a connector.
    pub(super) connect: [&'static str; 2],
    /// Before the name of an account.
    pub(super) connected: &'static str,
    pub(super) ready: &'static str,
    pub(super) missing: &'static str,
    /// If the operator has set up no connector of the link.
    pub(super) nothing_offered: &'static str,
    pub(super) done: &'static str,
    pub(super) finish: &'static str,
    pub(super) reads: &'static str,
    pub(super) writes: &'static str,
    pub(super) deletes: &'static str,
    /// The application that has a permission, if the operator does not say its name.
    pub(super) the_application: &'static str,
    pub(super) may: &'static str,
    pub(super) may_read: &'static str,
    pub(super) may_write: &'static str,
    pub(super) may_delete: &'static str,
    /// Between the last two words of a list.
    pub(super) and: &'static str,
    /// The labels of the fields for credentials, by the names of the fields.
    pub(super) labels: &'static [(&'static str, &'static str)],
    /// The headings of the ways to connect an account, by the names of the ways. The way of a
    /// connector's auth scheme has none.
    pub(super) headings: &'static [(&'static str, &'static str)],
    /// The title of the page with the code of a device authorization.
    pub(super) code_title: &'static str,
    pub(super) code_text: &'static str,
    pub(super) code_after: &'static str,
    pub(super) code_done: &'static str,
    pub(super) refused_by_user: &'static str,
    pub(super) other_account: &'static str,
    pub(super) key_refused: &'static str,
    pub(super) address_refused: &'static str,
    pub(super) not_configured: &'static str,
    pub(super) too_many: &'static str,
    pub(super) failed: &'static str,
    pub(super) finished: Message,
    pub(super) ended: Message,
    pub(super) unknown: Message,
    pub(super) other_browser: Message,
    pub(super) other_site: Message,
    pub(super) unavailable: Message,
    /// The pages for a user whom a provider has sent back, and whose authorization is not one of a
    /// link.
    pub(crate) returned: Returned,
}

/// Texts for a user who comes back from a provider, where no page of a link can show them.
pub(crate) struct Returned {
    pub(crate) not_complete: Message,
    pub(crate) not_known: Message,
    pub(crate) used: Message,
    pub(crate) expired: Message,
    pub(crate) unavailable: Message,
    pub(crate) another_account: &'static str,
    /// `{consented}` is the account with which the user has signed in, `{connected}` the one that is
    /// connected, and `{name}` its name at the application.
    pub(crate) another_account_text: &'static str,
}

/// A page with one text.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

impl Words {
    /// The texts in the language that a browser wants most (RFC 9110, 12.5.4).
    pub(crate) fn for_browser(headers: &HeaderMap) -> &'static Self {
        let ranges = headers.get_all(ACCEPT_LANGUAGE).iter().filter_map(|value| value.to_str().ok());
        let wanted = ranges.flat_map(|ranges| ranges.split(',')).filter_map(|range| {
            let (tag, weight) = range.split_once(';').unwrap_or((range, "q=1"));
            let weight: f32 = weight.trim().strip_prefix("q=")?.parse().ok()?;
            let primary = tag.trim().split('-').next()?;
            let words = LANGUAGES.into_iter().find(|words| words.language.eq_ignore_ascii_case(primary))?;
            (weight > 0.0).then_some((weight, words))
        });
        // Of two languages with the same weight, the browser has named the first one first.
        let best = wanted.reduce(|best, other| if other.0 > best.0 { other } else { best });
        best.map_or(&ENGLISH, |(_, words)| words)
    }

    /// The text of the button that connects an account of a connector.
    pub(super) fn to_connect(&self, title: &str) -> String {
        let [before, after] = self.connect;
        format!("{before}{title}{after}")
    }

    /// The label of a field for credentials.
    pub(super) fn label(&self, field: &'static str) -> &'static str {
        text_of(self.labels, field)
    }

    /// The heading of a way to connect an account, among others.
    pub(super) fn heading(&self, way: &'static str) -> &'static str {
        text_of(self.headings, way)
    }

    /// The heading of the operations with an effect, and the verb for the summary.
    pub(super) fn of_effect(&self, effect: Effect) -> [&'static str; 2] {
        match effect {
            Effect::Read => [self.reads, self.may_read],
            Effect::Write => [self.writes, self.may_write],
            Effect::Destructive => [self.deletes, self.may_delete],
        }
    }

    /// The permission of an application, in one sentence. `application` is its name, if the
    /// operator says it.
    pub(super) fn permission(&self, application: Option<&str>, verbs: &[&str]) -> String {
        let verbs = match verbs {
            [rest @ .., last] if !rest.is_empty() => format!("{} {} {last}", rest.join(", "), self.and),
            verbs => verbs.concat(),
        };
        format!("{} {} {verbs}.", application.unwrap_or(self.the_application), self.may)
    }

    /// The text about an account that was not connected, for a code of an authorization's result.
    pub(super) fn of_failure(&self, code: &str) -> &'static str {
        match code {
            "access_denied" => self.refused_by_user,
            "other_account" => self.other_account,
            "key_refused" => self.key_refused,
            "address_refused" => self.address_refused,
            "not_configured" => self.not_configured,
            "too_many_integrations" => self.too_many,
            _ => self.failed,
        }
    }
}

/// The text with a name. A test checks that every name has one.
fn text_of(texts: &[(&str, &'static str)], name: &'static str) -> &'static str {
    texts.iter().find(|(known, _)| *known == name).map_or(name, |(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use contract::AuthAdditions;
    use hyper::header::HeaderValue;
    use integrations::{AuthTypeName, CredentialsForm, KeyForm};
    use store::{AuthType, GrantType};

    use super::*;

    fn language_for(accepted: &'static str) -> &'static str {
        let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, HeaderValue::from_static(accepted))]);
        Words::for_browser(&headers).language
    }

    #[test]
    fn a_browser_gets_the_language_that_it_wants_most() {
        assert_eq!(Words::for_browser(&HeaderMap::new()).language, "en");
        for (accepted, language) in [
            ("de", "de"),
            ("de-AT,de;q=0.9,en;q=0.8", "de"),
            ("en-US,en;q=0.9,de;q=0.8", "en"),
            ("fr, DE;q=0.5, en;q=0.4", "de"),
            ("fr,*;q=0.5", "en"),
            ("de;q=0, en;q=0.1", "en"),
            ("de;q=x", "en"),
            ("den", "en"),
            ("", "en"),
        ] {
            assert_eq!(language_for(accepted), language, "{accepted}");
        }
    }

    #[test]
    fn the_title_of_a_connector_is_where_the_language_has_it() {
        assert_eq!(ENGLISH.to_connect("Mail"), "Connect Mail");
        assert_eq!(GERMAN.to_connect("Mail"), "Mail verbinden");
        assert_eq!(GERMAN.permission(None, &["lesen", "löschen"]), "Die Anwendung darf lesen und löschen.");
    }

    #[test]
    fn every_field_and_every_further_way_has_a_text_in_each_language() {
        let keys = [KeyForm::ApiKey, KeyForm::Login, KeyForm::Aws, KeyForm::Signing { needs_id: true }];
        let grants = GrantType::ALL.map(|grant_type| CredentialsForm::of(grant_type, &AuthAdditions::default()));
        let forms: Vec<_> = keys.into_iter().map(KeyForm::form).chain(grants).collect();
        for words in LANGUAGES {
            for field in forms.iter().flat_map(CredentialsForm::fields) {
                assert_ne!(words.label(field.name), field.name, "{}", words.language);
            }
            let is_of_scheme = |way: &&str| AuthType::ALL.iter().any(|scheme| scheme.name() == *way);
            for way in AuthTypeName::all().into_iter().filter(|way| !is_of_scheme(way)) {
                assert_ne!(words.heading(way), way, "{}", words.language);
            }
        }
    }

    #[test]
    fn a_permission_is_a_sentence() {
        assert_eq!(ENGLISH.permission(None, &["read"]), "The application may read.");
        assert_eq!(ENGLISH.permission(Some("Acme Desk"), &["read", "delete"]), "Acme Desk may read and delete.");
        let all = ENGLISH.permission(None, &["read", "write", "delete"]);
        assert_eq!(all, "The application may read, write and delete.");
    }
}
