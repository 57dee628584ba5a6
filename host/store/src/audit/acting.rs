//! The author of writes: the actor and the request of the writes that a task makes.
//!
//! The actor is a value of the task, not a parameter of each write. Everything between a route and
//! the store would have to hand on a parameter, and a write that forgot it would have no entry. A
//! write without an actor is one of the gateway itself.

tokio::task_local! {
    static ACTING: Acting;
}

/// The actor and the request of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acting {
    /// The name of the actor in the audit.
    actor: String,
    /// Empty if the change is not made by a request.
    request_id: String,
    /// `true` if the actor has requested a refresh of tokens.
    renews: bool,
    /// The reason that the actor has given. Empty if there is none.
    reason: String,
}

impl Acting {
    /// A caller with an API key.
    pub fn key(id: &str, request_id: &str) -> Self {
        Self::new(id.to_owned(), request_id)
    }

    /// A caller with a token of an issuer that the operator trusts. The subject is empty for the
    /// tenant itself.
    pub fn token(tenant: &str, subject: &str, request_id: &str) -> Self {
        Self::new(format!("token:{tenant}/{subject}"), request_id)
    }

    /// A person who has signed in to the console at an OpenID provider. `name` is the subject and
    /// the host of the provider: `SUBJECT@HOST`.
    pub fn operator(name: &str, request_id: &str) -> Self {
        Self::new(format!("person:{name}"), request_id)
    }

    /// A person at the command line of a machine.
    pub fn person(user: &str, host: &str) -> Self {
        Self::new(format!("person:{user}@{host}"), "")
    }

    /// A user whom a provider has sent back. The subject is empty for the tenant itself.
    pub fn user(tenant: &str, subject: &str) -> Self {
        let request_id = Self::current().request_id;
        Self::new(format!("user:{tenant}/{subject}"), &request_id)
    }

    /// A caller without a key, whose request may show later who acts.
    pub fn anonymous(request_id: &str) -> Self {
        Self { request_id: request_id.to_owned(), ..Self::gateway() }
    }

    /// The gateway itself.
    pub fn gateway() -> Self {
        Self::new("gateway".to_owned(), "")
    }

    /// A file in a folder of modules.
    pub(crate) fn file(folder: &str) -> Self {
        Self::new(format!("file:{folder}"), "")
    }

    /// The actor of this task.
    pub fn current() -> Self {
        ACTING.try_with(Clone::clone).unwrap_or_else(|_| Self::gateway())
    }

    /// The same actor, who has requested a refresh of tokens. The refresh then has an entry.
    #[must_use]
    pub fn renewing(self) -> Self {
        Self { renews: true, ..self }
    }

    /// The same actor, who gives a reason. It is in the detail of each entry.
    #[must_use]
    pub fn because(self, reason: &str) -> Self {
        Self { reason: reason.to_owned(), ..self }
    }

    /// The name of the actor in the audit.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    pub(super) fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The action, with the reason of the actor.
    pub(super) fn detailed(&self, detail: &str) -> String {
        match (detail, self.reason.as_str()) {
            (detail, "") => detail.to_owned(),
            ("", reason) => format!("reason: {reason}"),
            (detail, reason) => format!("{detail}; reason: {reason}"),
        }
    }

    pub(crate) fn renews(&self) -> bool {
        self.renews
    }

    fn new(actor: String, request_id: &str) -> Self {
        Self { actor, request_id: request_id.to_owned(), renews: false, reason: String::new() }
    }
}

/// Runs work whose changes this actor makes.
pub fn acting<F: Future>(by: Acting, work: F) -> impl Future<Output = F::Output> {
    ACTING.scope(by, work)
}

/// Lets a new task have the actor of the task that starts it.
pub fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> + use<F> {
    ACTING.scope(Acting::current(), work)
}
