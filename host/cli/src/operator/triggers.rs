//! The commands `triggers …`. The operator's routes are about all tenants; `test`, `read` and
//! `listen` act for the tenant of the key, as its application would.

use authoring::gateway::RunningGateway;
use authoring::output::remark;

use super::arguments::{OneArguments, TriggersCommand};
use super::error::OperatorError;
use super::filters::ListOptions;
use super::{listen, print_if_json, print_page_of, print_record, show};

/// Runs a command `triggers …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn triggers(command: &TriggersCommand) -> Result<(), OperatorError> {
    match command {
        TriggersCommand::List(ListOptions { filters, list }) => {
            let columns = [
                ("ID", "id"),
                ("TENANT", "tenant"),
                ("SUBJECT", "subject"),
                ("CONNECTOR", "connector"),
                ("TYPE", "type"),
                ("ACCOUNT", "user_identifier"),
                ("STATUS", "status"),
                ("MODE", "mode"),
                ("LAST EVENT", "last_event_at"),
                ("PENDING", "pending_deliveries"),
                ("REASON", "reason"),
            ];
            print_page_of(list, "triggers", &filters.given, columns).await
        }
        TriggersCommand::Show(one) => show(one, "triggers").await,
        TriggersCommand::Test(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.post(&["triggers", id, "test"], None).await?;
            remark(format_args!("The example is on its way."));
            print_record(&record, *list)
        }
        TriggersCommand::Read(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.post(&["triggers", id, "read"], None).await?;
            remark(format_args!("The read of {id} begins."));
            print_if_json(&record, *list)
        }
        TriggersCommand::Listen(arguments) => listen::listen(arguments).await,
        TriggersCommand::Resubscribe(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.post(&["admin", "triggers", id, "resubscribe"], None).await?;
            remark(format_args!("The subscription of {id} is made anew."));
            print_if_json(&record, *list)
        }
        TriggersCommand::Remove(OneArguments { id, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.delete(&["admin", "triggers", id]).await?;
            let rest = match record["unsubscribed"] == false {
                true => " The service did not confirm that the subscription ended.",
                false => "",
            };
            remark(format_args!("Removed {id}.{rest}"));
            print_if_json(&record, *list)
        }
    }
}
