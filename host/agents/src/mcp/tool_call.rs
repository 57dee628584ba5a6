//! One call of a tool, with the account that it uses.

use super::lifecycle::Client;
use super::{Exchange, Stop};
use contract::words::shortened;
use endpoint::headers::CallHeaders;

/// One call of a tool.
pub(super) struct ToolCall<'a> {
    pub(super) exchange: &'a Exchange<'a>,
    pub(super) client: &'a Client,
    pub(super) call_headers: CallHeaders,
    pub(super) idempotency_key: Option<String>,
    /// The id of the call's record.
    pub(super) request_id: &'a str,
    /// The digest with which the client confirms the call.
    pub(super) confirm: Option<String>,
    /// The token of the client's request for progress, as JSON text.
    pub(super) progress_token: Option<String>,
}

impl<'a> ToolCall<'a> {
    pub(super) fn new(
        exchange: &'a Exchange<'a>,
        client: &'a Client,
        call_headers: CallHeaders,
        idempotency_key: Option<String>,
        request_id: &'a str,
    ) -> Self {
        Self { exchange, client, call_headers, idempotency_key, request_id, confirm: None, progress_token: None }
    }
}

impl ToolCall<'_> {
    /// The account of the call. `None` if no one has named one so far.
    pub(super) fn account(&self) -> Option<&str> {
        self.call_headers.user_identifier.as_deref()
    }

    /// Uses this account if no one has named one before: the tool set, the header of the request,
    /// the argument, and the user's answer to a question may do so, in this order.
    ///
    /// # Errors
    /// If another account was named before.
    pub(super) fn use_account(&mut self, account: &str) -> Result<(), Stop> {
        let account = account.trim();
        if account.is_empty() {
            return Ok(());
        }
        if account.contains('\0') {
            return Err(Stop::Said(format!(
                "No account has the name `{}`; `list_accounts` lists them.",
                shortened(account)
            )));
        }
        let Some(decided) = self.account() else {
            self.call_headers.user_identifier = Some(account.into());
            return Ok(());
        };
        if decided == account {
            return Ok(());
        }
        let shown = shortened(account);
        Err(Stop::Said(match self.exchange.fixed_account() {
            Some(fixed) => {
                format!("Every call here uses the account `{fixed}`, and not `{shown}`; leave the account out.")
            }
            None => format!("The call uses the account `{decided}`, and not `{shown}`; leave the account out."),
        }))
    }
}
