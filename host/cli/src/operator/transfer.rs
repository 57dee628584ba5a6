//! The commands `integrations import` and `integrations export`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use age::Encryptor;
use authoring::database;
use authoring::output::{ProgressLine, print, print_json, remark};
use connector_gateway::Config;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use store::vault::{Vault, VaultError};
use store::{AnyIntegrationFilter, AuditAction, AuthType, Integration};

use super::arguments::{ExportArguments, ImportArguments};
use super::error::OperatorError;
use super::running;
use crate::table::Table;

/// The most lines in one request.
const BLOCK_LINES: usize = 1000;

/// Accounts that are read from the database at a time.
const EXPORT_PAGE: u32 = 500;

/// Imports a file in blocks of lines, and prints the lines that were refused.
///
/// # Errors
/// If the file cannot be read, if the gateway does not respond, or if a line was refused.
pub(super) async fn import(arguments: &ImportArguments) -> Result<(), OperatorError> {
    let ImportArguments { file, replace, list, gateway } = arguments;
    let gateway = running(gateway)?;
    let query: &[(&str, &str)] = if *replace { &[("replace", "true")] } else { &[] };
    let of_file = |error| OperatorError::File { file: file.clone(), error };
    let mut source = BufReader::new(File::open(file).map_err(of_file)?);
    let mut progress = ProgressLine::open();
    let (mut before, mut answers) = (0, Vec::new());
    loop {
        let (block, lines) = read_block(&mut source).map_err(of_file)?;
        if lines == 0 {
            break;
        }
        for mut answer in gateway.lines(&["admin", "integrations", "import"], query, block).await? {
            answer["line"] = (answer["line"].as_u64().unwrap_or_default() + before).into();
            answers.push(answer);
        }
        before += lines as u64;
        if let Some(line) = &mut progress {
            line.show(format_args!("importing: {before} lines"));
        }
    }
    if let Some(line) = progress {
        line.end();
    }
    report(&answers, list.json)
}

/// Reads lines up to [`BLOCK_LINES`]. The last one may have no line break.
fn read_block(source: &mut impl BufRead) -> io::Result<(Vec<u8>, usize)> {
    let (mut block, mut lines) = (Vec::new(), 0);
    while lines < BLOCK_LINES && source.read_until(b'\n', &mut block)? > 0 {
        lines += 1;
    }
    Ok((block, lines))
}

fn report(answers: &[Value], as_json: bool) -> Result<(), OperatorError> {
    let count = |status: &str| answers.iter().filter(|answer| answer["status"] == status).count();
    let refused = count("refused");
    if as_json {
        print_json(format_args!("{:#}", Value::from(answers.to_vec())))?;
    } else if refused > 0 {
        let mut table = Table::new(["LINE", "REFUSED BECAUSE"]);
        for answer in answers.iter().filter(|answer| answer["status"] == "refused") {
            table.row([answer["line"].to_string(), answer["error"].as_str().unwrap_or_default().to_owned()]);
        }
        print(table)?;
    }
    let [created, unchanged, replaced] = ["created", "unchanged", "replaced"].map(count);
    remark(format_args!("{created} created, {replaced} replaced, {unchanged} unchanged, {refused} refused."));
    if refused > 0 { Err(OperatorError::Refused { refused, lines: answers.len() }) } else { Ok(()) }
}

/// Writes all accounts to a new file that only the recipients can decrypt.
///
/// # Errors
/// If the file exists, or if the database does not respond. Accounts whose secret is damaged are
/// left out, and the error says how many.
pub(super) async fn export(arguments: &ExportArguments, config: &Config) -> Result<(), OperatorError> {
    let ExportArguments { recipient, file } = arguments;
    let store = database::open(config).await?;
    let vault = Vault::open(&config.master_key_path(), &store).await?;
    let of_file = |error| OperatorError::File { file: file.clone(), error };
    let recipients = recipient.iter().map(|recipient| recipient as &dyn age::Recipient);
    // There is always a recipient, and all are of one kind.
    let encryptor = Encryptor::with_recipients(recipients).map_err(|error| of_file(io::Error::other(error)))?;
    let mut output = encryptor.wrap_output(BufWriter::new(create(file).map_err(of_file)?)).map_err(of_file)?;
    let mut progress = ProgressLine::open();
    let mut filter = AnyIntegrationFilter { limit: EXPORT_PAGE, ..AnyIntegrationFilter::default() };
    let (mut written, mut damaged) = (0_u64, 0_u64);
    loop {
        let page = store.all_integrations(filter.clone()).await?;
        let Some(last) = page.last() else { break };
        filter.before = Some((last.created_at, last.id.clone()));
        for integration in &page {
            match export_line(&vault, integration).await? {
                Some(line) => {
                    writeln!(output, "{line}").map_err(of_file)?;
                    written += 1;
                }
                None => {
                    damaged += 1;
                    remark(format_args!("{} is left out: its secret is damaged.", integration.id));
                }
            }
        }
        if let Some(line) = &mut progress {
            line.show(format_args!("exporting: {written} accounts"));
        }
    }
    if let Some(line) = progress {
        line.end();
    }
    let mut output = output.finish().map_err(of_file)?;
    output.flush().and_then(|()| output.get_ref().sync_all()).map_err(of_file)?;
    store.note_audit(AuditAction::IntegrationExported, "integrations", "", &format!("{written} accounts")).await?;
    remark(format_args!("Wrote {written} accounts to {}. `age --decrypt` reads it.", file.display()));
    if damaged > 0 { Err(OperatorError::Damaged { damaged }) } else { Ok(()) }
}

/// Creates a file that only its owner can read.
fn create(file: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)
}

/// The line of an account, as `integrations import` reads it. `None` if its secret is damaged.
async fn export_line(vault: &Vault, integration: &Integration) -> Result<Option<Value>, OperatorError> {
    let Integration { holder, user_identifier, auth_type, labels, details, .. } = integration;
    let mut credentials = json!({});
    if let Some(sealed) = &details.secret {
        let secret = match vault.unseal(&holder.secret_context(user_identifier), sealed).await {
            Ok(secret) => secret,
            Err(VaultError::Store(error)) => return Err(error.into()),
            Err(_) => return Ok(None),
        };
        // The sealed form has the members of an import.
        let Ok(members) = serde_json::from_slice(secret.expose_secret()) else { return Ok(None) };
        credentials = members;
    }
    if let (AuthType::OAuth2, Some(at)) = (auth_type, details.expires_at) {
        credentials["expires_at"] = rfc3339(at).into();
    }
    let mut line = json!({
        "tenant": holder.tenant,
        "connector": holder.connector,
        "user_identifier": user_identifier,
        "credentials": credentials,
        "scopes": details.scopes,
        "account": {"id": details.account.id, "email": details.account.email, "name": details.account.name},
        "labels": labels,
    });
    if !holder.subject.is_empty() {
        line["subject"] = holder.subject.as_str().into();
    }
    Ok(Some(line))
}

fn rfc3339(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at.max(UNIX_EPOCH)).to_string()
}
