//! The person who runs a command, for the history and the audit.

use store::Acting;

/// The person who runs a command.
pub(crate) struct Person {
    /// The user of the operating system.
    pub(crate) user: String,
    /// The machine.
    pub(crate) host: String,
}

impl Person {
    pub(crate) fn current() -> Self {
        // The command also works if the machine does not know the user or has no name.
        let unknown = || "unknown".to_owned();
        Self {
            user: whoami::username().unwrap_or_else(|_| unknown()),
            host: whoami::hostname().unwrap_or_else(|_| unknown()),
        }
    }
}

/// The person who runs the command, as the audit names them.
pub fn person() -> Acting {
    let Person { user, host } = Person::current();
    Acting::person(&user, &host)
}
