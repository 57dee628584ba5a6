//! The handles: each subject of the store has one, with the statements on its tables.

use crate::Store;

/// Declares the handles, and the function of the store for each.
macro_rules! handles {
    ($($(#[$doc:meta])* $subject:ident: $handle:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $handle<'a>(pub(crate) &'a Store);
        )*

        impl Store {
            $(
                $(#[$doc])*
                pub fn $subject(&self) -> $handle<'_> {
                    $handle(self)
                }
            )*
        }
    };
}

handles! {
    /// API keys of callers.
    keys: Keys;
    /// Accounts that users connected.
    integrations: Integrations;
    /// Operations that run in the background.
    jobs: Jobs;
    /// Events that callers want to know of.
    triggers: Triggers;
    /// Events of triggers.
    events: Events;
    /// Subscriptions at services.
    subscriptions: Subscriptions;
    /// Addresses for the notifications of an application.
    inboxes: Inboxes;
    /// The secrets that webhooks are signed with, and their deliveries.
    webhooks: Webhooks;
    /// Triggers that agents have made, and their receivers.
    agent_triggers: AgentTriggers;
    /// OAuth authorizations in progress.
    authorizations: Authorizations;
    /// The modules of the service, and the generations of connectors.
    modules: Modules;
    /// Hosts that the operator allows connectors to reach.
    grants: Grants;
    /// Links to the page on which an end user connects accounts.
    connect_links: ConnectLinks;
    /// The OAuth clients of tenants.
    oauth_clients: OauthClients;
    /// Grants of users that the caller has not confirmed yet.
    pending_grants: PendingGrants;
    /// Every change by a person, a key or a file.
    audit: Audit;
    /// The key-value storage that connectors use.
    storage: Storage;
    /// Calls with an idempotency key, and their first answers.
    idempotency: Idempotency;
    /// Bearer tokens of agents.
    agent_sessions: AgentSessions;
    /// The history of connectors.
    changes: Changes;
    /// Records of calls.
    calls: Calls;
    /// The gateways that share the database.
    gateways: Gateways;
    /// Sessions of operators at the console.
    console_sessions: ConsoleSessions;
    /// The operations that agents get at one address.
    tool_sets: ToolSets;
    /// The counts of calls of each tenant.
    usage: Usage;
    /// Calls that a user must confirm before they run.
    confirmations: Confirmations;
}
