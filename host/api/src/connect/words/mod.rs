//! Every text of the pages for end users, in one place for translation.

use contract::Effect;
use integrations::Way;
use store::GrantType;

/// The texts in one language.
pub(crate) struct Words {
    /// The language, as RFC 5646 names it.
    pub(super) language: &'static str,
    pub(super) title: &'static str,
    pub(super) introduction: &'static str,
    /// Before the title of a connector.
    pub(super) connect: &'static str,
    /// Before the name of an account.
    pub(super) connected: &'static str,
    pub(super) ready: &'static str,
    pub(super) missing: &'static str,
    pub(super) done: &'static str,
    pub(super) finish: &'static str,
    pub(super) reads: &'static str,
    pub(super) writes: &'static str,
    pub(super) deletes: &'static str,
    pub(super) may: &'static str,
    pub(super) may_read: &'static str,
    pub(super) may_write: &'static str,
    pub(super) may_delete: &'static str,
    /// Between the last two words of a list.
    pub(super) and: &'static str,
    pub(super) api_key: &'static str,
    pub(super) username: &'static str,
    pub(super) password: &'static str,
    pub(super) access_key_id: &'static str,
    pub(super) secret_access_key: &'static str,
    pub(super) session_token: &'static str,
    pub(super) key_id: &'static str,
    pub(super) secret: &'static str,
    pub(super) client_id: &'static str,
    pub(super) client_secret: &'static str,
    pub(super) key_file: &'static str,
    pub(super) subject: &'static str,
    pub(super) installation_id: &'static str,
    pub(super) by_sign_in: &'static str,
    pub(super) by_client: &'static str,
    pub(super) by_service_account: &'static str,
    pub(super) by_installation: &'static str,
    pub(super) by_device: &'static str,
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
}

/// A page with one text.
#[derive(Clone, Copy)]
pub(super) struct Message {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

pub(super) const ENGLISH: Words = Words {
    language: "en",
    title: "Connect your accounts",
    introduction: "An application asks for access to these accounts. You decide about each of them.",
    connect: "Connect",
    connected: "Connected as",
    ready: "Ready. It needs no account.",
    missing: "It is not available now. Try again later.",
    done: "Done",
    finish: "Finish without the others",
    reads: "Read",
    writes: "Add and change",
    deletes: "Delete or overwrite",
    may: "The application may",
    may_read: "read",
    may_write: "write",
    may_delete: "delete",
    and: "and",
    api_key: "API key",
    username: "User name",
    password: "Password",
    access_key_id: "Access key id",
    secret_access_key: "Secret access key",
    session_token: "Session token (only of a temporary key)",
    key_id: "Key id",
    secret: "Secret",
    client_id: "Client id",
    client_secret: "Client secret",
    key_file: "Key file of the service account (JSON)",
    subject: "User for whom the service account acts",
    installation_id: "Id of the installation",
    by_sign_in: "Sign in at the service",
    by_client: "With a client id and a client secret",
    by_service_account: "With a service account",
    by_installation: "With an installation of the application",
    by_device: "With a code, on this or another device",
    code_title: "Enter this code at the service",
    code_text: "Open the page below, on this or another device. Sign in there and enter the code:",
    code_after: "Then come back to this page. It can take some seconds until your account is shown as connected.",
    code_done: "I have entered the code",
    refused_by_user: "You did not give access. Nothing was connected.",
    other_account: "You signed in with another account than the one that is connected already. Nothing was changed.",
    key_refused: "The service does not accept this. Check it and send it again.",
    address_refused: "This is not the address of an account at the service. Check it and send it again.",
    not_configured: "This cannot be connected here yet. The operator of the gateway must set it up.",
    too_many: "Too many accounts are connected. Disconnect one first.",
    failed: "This could not be connected. Try again.",
    finished: Message { title: "You are done", text: "You can close this page." },
    ended: Message {
        title: "This link has ended",
        text: "Go back to the application that sent you, and start again from there.",
    },
    unknown: Message {
        title: "This link is not known",
        text: "Go back to the application that sent you, and start again from there.",
    },
    other_browser: Message {
        title: "This link is open in another browser",
        text: "Only the browser in which the link was used first can use it. Return to that browser, or start again from the application.",
    },
    other_site: Message {
        title: "This cannot be done from another site",
        text: "Open the link itself, and use its buttons.",
    },
    unavailable: Message { title: "This cannot be completed now", text: "Wait a moment, and open the link again." },
};

impl Words {
    /// The heading of a way to connect an account, among others.
    pub(super) fn of_way(&self, way: Way) -> &'static str {
        match way {
            Way::Scheme => self.by_sign_in,
            Way::Grant(GrantType::ClientCredentials) => self.by_client,
            Way::Grant(GrantType::ServiceAccount) => self.by_service_account,
            Way::Grant(GrantType::AppInstallation) => self.by_installation,
            Way::Device => self.by_device,
        }
    }

    /// The heading of the operations with an effect, and the verb for the summary.
    pub(super) fn of_effect(&self, effect: Effect) -> [&'static str; 2] {
        match effect {
            Effect::Read => [self.reads, self.may_read],
            Effect::Write => [self.writes, self.may_write],
            Effect::Destructive => [self.deletes, self.may_delete],
        }
    }

    /// The permission of the application, in one sentence.
    pub(super) fn permission(&self, verbs: &[&str]) -> String {
        let verbs = match verbs {
            [rest @ .., last] if !rest.is_empty() => format!("{} {} {last}", rest.join(", "), self.and),
            verbs => verbs.concat(),
        };
        format!("{} {verbs}.", self.may)
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

#[cfg(test)]
mod tests {
    use super::ENGLISH;

    #[test]
    fn a_permission_is_a_sentence() {
        assert_eq!(ENGLISH.permission(&["read"]), "The application may read.");
        assert_eq!(ENGLISH.permission(&["read", "delete"]), "The application may read and delete.");
        assert_eq!(ENGLISH.permission(&["read", "write", "delete"]), "The application may read, write and delete.");
    }
}
