//! The commands `tool-sets …`. They act for the tenant of the key.

use authoring::gateway::RunningGateway;
use authoring::output::remark;
use serde_json::{Value, json};

use super::arguments::{CreateToolSetArguments, PagedListArguments, ToolSetArguments, ToolSetsCommand};
use super::error::OperatorError;
use super::{page_of, print_page, print_record};

/// The path of the routes.
const PATH: &str = "mcp-sets";

/// Runs a command `tool-sets …`.
///
/// # Errors
/// See [`OperatorError`].
pub(crate) async fn tool_sets(command: &ToolSetsCommand) -> Result<(), OperatorError> {
    match command {
        ToolSetsCommand::List(PagedListArguments { page, list, gateway }) => {
            let columns = [
                ("NAME", "name"),
                ("ALLOW", "allow"),
                ("EFFECTS", "effects"),
                ("MODE", "mode"),
                ("CONFIRM", "confirm"),
                ("ACCOUNT", "account"),
                ("CREATED", "created_at"),
            ];
            let found = page_of(&RunningGateway::at(gateway)?, &[PATH], "sets", &[], page).await?;
            print_page(found, "sets", *list, columns)
        }
        ToolSetsCommand::Show(ToolSetArguments { name, list, gateway }) => {
            print_record(&RunningGateway::at(gateway)?.get(&[PATH, name], &[]).await?, *list)
        }
        ToolSetsCommand::Create(arguments) => {
            let record = RunningGateway::at(&arguments.gateway)?.post(&[PATH], Some(&body(arguments))).await?;
            remark(format_args!("Made the tool set `{}`.", arguments.name));
            print_record(&record, arguments.list)
        }
        ToolSetsCommand::Remove(ToolSetArguments { name, list, gateway }) => {
            let record = RunningGateway::at(gateway)?.delete(&[PATH, name]).await?;
            remark(format_args!("Removed the tool set `{name}`."));
            if list.json { print_record(&record, *list) } else { Ok(()) }
        }
    }
}

fn body(arguments: &CreateToolSetArguments) -> Value {
    let CreateToolSetArguments { name, allow, effects, mode, pinned, structured, confirm, account, .. } = arguments;
    let mut body = json!({"name": name, "allow": allow});
    let members = [
        ("effects", (!effects.is_empty()).then(|| json!(effects))),
        ("mode", mode.as_ref().map(|mode| json!(mode))),
        ("pinned", (!pinned.is_empty()).then(|| json!(pinned))),
        ("structured", structured.then(|| json!(true))),
        ("confirm", confirm.then(|| json!(true))),
        ("account", account.as_ref().map(|account| json!(account))),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    body
}
