//! The commands `integrations …`.

use authoring::gateway::RunningGateway;
use authoring::output::remark;
use connector_gateway::Config;

use super::arguments::{IntegrationsCommand, OneArguments, PagedListArguments};
use super::error::OperatorError;
use super::filters::ListOptions;
use super::{page_of, print_if_json, print_page, print_page_of, print_record, shorten, show, transfer};

/// Runs a command `integrations …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn integrations(command: &IntegrationsCommand, config: &Config) -> Result<(), OperatorError> {
    match command {
        IntegrationsCommand::List(ListOptions { filters, list }) => {
            let columns = [
                ("ID", "id"),
                ("TENANT", "tenant"),
                ("SUBJECT", "subject"),
                ("CONNECTOR", "connector"),
                ("NAME", "user_identifier"),
                ("STATUS", "status"),
                ("CREATED", "created_at"),
                ("LAST ERROR", "last_error"),
            ];
            print_page_of(list, "integrations", &filters.given, columns).await
        }
        IntegrationsCommand::Links(ListOptions { filters, list: PagedListArguments { page, list, gateway } }) => {
            let gateway = RunningGateway::at(gateway)?;
            let path = ["admin", "connect-links"];
            let mut found = page_of(&gateway, &path, "connect_links", &filters.given, page).await?;
            if !list.json {
                shorten(&mut found.entries, "connectors", "connector");
            }
            let columns = [
                ("ID", "id"),
                ("TENANT", "tenant"),
                ("SUBJECT", "subject"),
                ("CONNECTORS", "connectors"),
                ("STATE", "state"),
                ("EXPIRES", "expires_at"),
                ("KEY", "key_id"),
            ];
            print_page(found, "connect_links", *list, columns)
        }
        IntegrationsCommand::Import(arguments) => transfer::import(arguments).await,
        IntegrationsCommand::Export(arguments) => transfer::export(arguments, config).await,
        IntegrationsCommand::Show(one) => show(one, "integrations").await,
        IntegrationsCommand::Renew(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.post(&["admin", "integrations", id, "renew"], None).await?;
            remark(format_args!("Renewed {id}."));
            print_record(&record, *list)
        }
        IntegrationsCommand::Remove(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.delete(&["admin", "integrations", id]).await?;
            let rest =
                if record["revoked"] == true { "" } else { " The service did not confirm that the access ended." };
            remark(format_args!("Removed {id}.{rest}"));
            print_if_json(&record, *list)
        }
    }
}
