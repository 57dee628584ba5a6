//! The commands `tenants …`.

use std::fs;

use authoring::gateway::RunningGateway;
use authoring::output::remark;
use serde_json::json;

use super::arguments::{ClientArguments, ClientsCommand, SetClientArguments, TenantsCommand};
use super::error::OperatorError;
use super::{all_entries, print_page, print_page_of, print_record};

/// Runs a command `tenants …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn tenants(command: &TenantsCommand) -> Result<(), OperatorError> {
    match command {
        TenantsCommand::List(list) => {
            let columns = [
                ("TENANT", "tenant"),
                ("KEYS", "keys"),
                ("ACCOUNTS", "integrations"),
                ("PENDING JOBS", "jobs_pending"),
                ("OAUTH CLIENTS", "oauth_clients"),
            ];
            print_page_of(list, "tenants", &[], columns).await
        }
        TenantsCommand::Clients(command) => clients(command).await,
    }
}

async fn clients(command: &ClientsCommand) -> Result<(), OperatorError> {
    match command {
        ClientsCommand::List { tenant, list, gateway } => {
            let path = ["admin", "tenants", tenant, "oauth_clients"];
            let found = all_entries(&RunningGateway::at(gateway)?, &path, "oauth_clients").await?;
            let columns = [
                ("NAME", "name"),
                ("CLIENT ID", "client_id"),
                ("SECRET", "has_secret"),
                ("ACCOUNTS", "integrations"),
                ("UPDATED", "updated_at"),
            ];
            print_page(found, "oauth_clients", *list, columns)
        }
        ClientsCommand::Set(arguments) => set(arguments).await,
        ClientsCommand::Remove { client: ClientArguments { tenant, name }, list, gateway } => {
            let answer =
                RunningGateway::at(gateway)?.delete(&["admin", "tenants", tenant, "oauth_clients", name]).await?;
            let accounts = &answer["integrations"];
            remark(format_args!(
                "Removed the client `{name}` of `{tenant}`. {accounts} accounts must be connected again."
            ));
            if list.json { print_record(&answer, *list) } else { Ok(()) }
        }
    }
}

async fn set(arguments: &SetClientArguments) -> Result<(), OperatorError> {
    let SetClientArguments { client, client_id, client_secret_file, scopes, redirect_url, list, gateway } = arguments;
    let mut body = json!({"client_id": client_id});
    if let Some(file) = client_secret_file {
        let text = fs::read_to_string(file).map_err(|error| OperatorError::File { file: file.clone(), error })?;
        body["client_secret"] = files::secret_of(&text).into();
    }
    if !scopes.is_empty() {
        body["scopes"] = scopes.clone().into();
    }
    if let Some(url) = redirect_url {
        body["redirect_url"] = url.as_str().into();
    }
    let path = ["admin", "tenants", &client.tenant, "oauth_clients", &client.name];
    let record = RunningGateway::at(gateway)?.put(&path, &body).await?;
    remark(format_args!(
        "Users of `{}` connect accounts of `{}` with this client from now on.",
        client.tenant, client.name
    ));
    print_record(&record, *list)
}
