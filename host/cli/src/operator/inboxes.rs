//! The commands `inboxes …`.

use std::io::{self, BufRead, IsTerminal, Read};

use authoring::gateway::RunningGateway;
use authoring::output::remark;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;

use super::arguments::{CreateInboxArguments, InboxSecretArguments, InboxesCommand, OneArguments, PagedListArguments};
use super::error::OperatorError;
use super::filters::ListOptions;
use super::{page_of, print_if_json, print_page, print_record, shorten, show};

/// Runs a command `inboxes …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn inboxes(command: &InboxesCommand) -> Result<(), OperatorError> {
    match command {
        InboxesCommand::List(PagedListArguments { page, list, gateway }) => {
            let mut found = page_of(&RunningGateway::at(gateway)?, &["admin", "inboxes"], "inboxes", &[], page).await?;
            if !list.json {
                shorten(&mut found.entries, "secrets", "id");
            }
            let columns = [
                ("ID", "id"),
                ("CONNECTOR", "connector"),
                ("INBOX", "inbox"),
                ("TENANT", "tenant"),
                ("STATE", "state"),
                ("SECRETS", "secrets"),
                ("LAST ACCEPTED", "last_accepted_at"),
                ("REJECTED IN 24 H", "rejected_24h"),
                ("URL", "url"),
            ];
            print_page(found, "inboxes", *list, columns)
        }
        InboxesCommand::Show(one) => show(one, "inboxes").await,
        InboxesCommand::Create(CreateInboxArguments { connector, inbox, tenant, list, gateway }) => {
            let mut body = json!({"connector": connector, "inbox": inbox});
            if let Some(tenant) = tenant {
                body["tenant"] = tenant.as_str().into();
            }
            let record = RunningGateway::at(gateway)?.post(&["admin", "inboxes"], Some(&body)).await?;
            let next = match record["url"].is_null() {
                true => "It has no address: set `hooks.public_url` to an https URL.",
                false => "Enter the address at the service, and then run `inboxes secret ID`.",
            };
            remark(format_args!("Made an inbox. {next}"));
            print_record(&record, *list)
        }
        InboxesCommand::Secret(arguments) => secret(arguments).await,
        InboxesCommand::Remove(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.delete(&["admin", "inboxes", id]).await?;
            remark(format_args!("Removed {id}."));
            print_if_json(&record, *list)
        }
        InboxesCommand::Requests(ListOptions { filters, list }) => {
            let columns = [
                ("AT", "at"),
                ("ADDRESS", "address"),
                ("CONNECTOR", "connector"),
                ("OUTCOME", "outcome"),
                ("KIND", "kind"),
                ("EVENTS", "events"),
                ("MS", "ms"),
                ("REMOTE", "remote"),
                ("REASON", "reason"),
            ];
            let PagedListArguments { page, list, gateway } = list;
            let gateway = RunningGateway::at(gateway)?;
            let found = page_of(&gateway, &["admin", "hook-requests"], "hook_requests", &filters.given, page).await?;
            print_page(found, "hook_requests", *list, columns)
        }
    }
}

async fn secret(arguments: &InboxSecretArguments) -> Result<(), OperatorError> {
    let InboxSecretArguments { id, remove, list, gateway } = arguments;
    let gateway = RunningGateway::at(gateway)?;
    if let Some(secret) = remove {
        let record = gateway.delete(&["admin", "inboxes", id, "secrets", secret]).await?;
        remark(format_args!("Requests that are signed with {secret} are refused from now on."));
        return print_if_json(&record, *list);
    }
    let text = read_secret()?;
    let body = json!({"secret": text});
    let record = gateway.post(&["admin", "inboxes", id, "secrets"], Some(&body)).await?;
    remark(format_args!("Requests that are signed with this secret are accepted from now on."));
    print_record(&record, *list)
}

/// Reads a secret from standard input: the first line of a terminal, which does not show it, or the
/// whole of a file.
fn read_secret() -> Result<String, OperatorError> {
    let input = io::stdin();
    let mut text = String::new();
    match input.is_terminal() {
        true => {
            remark("Enter the secret as the service shows it. It is not shown here.");
            let shown = tcgetattr(&input).map_err(io::Error::from)?;
            let mut hidden = shown.clone();
            hidden.local_modes.remove(LocalModes::ECHO);
            tcsetattr(&input, OptionalActions::Flush, &hidden).map_err(io::Error::from)?;
            let read = input.lock().read_line(&mut text);
            // The terminal shows what is typed again, also if nothing could be read.
            tcsetattr(&input, OptionalActions::Flush, &shown).map_err(io::Error::from)?;
            read?
        }
        false => input.lock().read_to_string(&mut text)?,
    };
    match files::secret_of(&text) {
        "" => Err(OperatorError::NoSecret),
        secret => Ok(secret.to_owned()),
    }
}
