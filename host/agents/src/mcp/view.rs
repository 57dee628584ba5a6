//! The tools of the caller at an address: those that the address, the limits of the key and the
//! tool set leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Exchange;
use auth::Scope;
use contract::AuthScheme;
use gateway::Gateway;
use jobs::JobsOf;
use mcp::{Catalogue, SetMode, ToolSet, View, catalogue};
use problem::{Problem, integration_problem};
use registry::Connector;
use store::IntegrationFilter;

/// The most accounts of a caller that are looked at for the argument `account`.
const MAX_ACCOUNTS: u32 = 1000;

/// The work for the tool of one operation, as the size of a text.
const BYTES_OF_TOOL: usize = 2048;

impl Exchange<'_> {
    /// The tools of the caller at this address, for a call. A call needs not know the accounts, which
    /// change the list alone.
    pub(super) async fn catalogue(&self) -> Arc<Catalogue> {
        catalogue_of(self.gateway, self.view(BTreeSet::new())).await
    }

    /// The view of the caller's list.
    pub(super) async fn view_of_list(&self) -> Result<View, Problem> {
        if self.fixed_account().is_some() {
            return Ok(self.view(BTreeSet::new()));
        }
        let accounts = self.accounts().await?;
        let several = accounts.into_iter().filter(|(_, of)| of.len() > 1).map(|(connector, _)| connector);
        Ok(self.view(several.collect()))
    }

    fn view(&self, several_accounts: BTreeSet<String>) -> View {
        let set = self.set.as_ref().map(|(_, set)| set);
        let limits = self.caller.limits().cloned().into_iter();
        View {
            connector: self.connector.clone(),
            is_readonly: self.is_readonly,
            limits: limits.chain(set.map(ToolSet::limits)).collect(),
            may_connect: self.caller.may(Scope::Integrate),
            several_accounts,
            mode: set.map_or(SetMode::Auto, |set| set.mode),
            pinned: set.map(|set| set.pinned.clone()).unwrap_or_default(),
            is_structured: set.is_some_and(|set| set.structured),
            confirms: self.confirms(),
        }
    }

    /// Returns `true` if destructive operations ask first.
    pub(super) fn confirms(&self) -> bool {
        self.caller.confirms() || self.set.as_ref().is_some_and(|(_, set)| set.confirm)
    }

    /// The account that every call at this address uses: the one of the agent session, or of the
    /// tool set.
    pub(super) fn fixed_account(&self) -> Option<&str> {
        let of_session = self.caller.session().and_then(|session| session.account.as_deref());
        of_session.or_else(|| self.set.as_ref().and_then(|(_, set)| set.account.as_deref()))
    }

    /// The jobs that the caller may see and cancel. For an agent session of a tool set, these are
    /// jobs of the set's operations.
    pub(super) fn jobs(&self) -> JobsOf<'_> {
        JobsOf { limits: self.job_limits.as_ref().or(self.caller.limits()), ..self.caller.jobs() }
    }

    /// The caller's accounts of each connector, by their names.
    pub(super) async fn accounts(&self) -> Result<BTreeMap<String, Vec<String>>, Problem> {
        let live = Arc::clone(&self.gateway.registry.live());
        let needs_accounts = |name: &String| {
            live.get(name).is_some_and(|connector| !matches!(connector.manifest().auth, AuthScheme::None))
        };
        let is_needed = match &self.connector {
            Some(only) => needs_accounts(only),
            None => live.keys().any(needs_accounts),
        };
        let mut accounts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        if !is_needed {
            return Ok(accounts);
        }
        let filter = IntegrationFilter {
            limit: MAX_ACCOUNTS,
            connector: self.connector.clone(),
            ..IntegrationFilter::default()
        };
        let found = self.gateway.integrations.list_of_user(self.caller.tenant(), self.caller.subject(), filter).await;
        for integration in found.map_err(|error| integration_problem(&error))? {
            accounts.entry(integration.holder.connector).or_default().push(integration.user_identifier);
        }
        Ok(accounts)
    }
}

/// The tools of a view. They are made once for each view of the connectors that are live.
pub(super) async fn catalogue_of(gateway: &Gateway, view: View) -> Arc<Catalogue> {
    let live = Arc::clone(&gateway.registry.live());
    let kept = gateway.catalogues.get(&gateway.registry, |_| catalogue::Catalogues::default());
    let known = kept.lock().get(&view).cloned();
    if let Some(known) = known {
        return known;
    }
    let operations: usize = live.values().map(|connector| connector.operations().count()).sum();
    let config = &gateway.config.mcp;
    let answer_schemas = |connector: &Connector| gateway.registry.answer_schemas(connector);
    let make = || Catalogue::make(&live, &view, config.direct_tools, config.max_result_bytes, answer_schemas);
    let made = compute::run(operations * BYTES_OF_TOOL, make).await;
    let made = Arc::new(made);
    catalogue::keep(&kept, view, Arc::clone(&made));
    made
}
