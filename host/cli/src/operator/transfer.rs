//! The commands `integrations import` and `integrations export`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use authoring::database;
use authoring::gateway::RunningGateway;
use authoring::output::{ProgressLine, print, print_json, remark};
use connector_gateway::Config;
use contract::words::one_line;
use serde_json::{Value, json};
use store::vault::{Vault, VaultError};
use store::{AnyIntegrationFilter, AuditAction, AuthType, Integration, Store};

use super::age::{Encryptor, Recipient};
use super::arguments::{ExportArguments, ImportArguments};
use super::error::OperatorError;
use crate::stop::unless_stopped;

/// The most lines in one request.
const BLOCK_LINES: u64 = 1000;

/// A request gets no further line once it has this many bytes.
const BLOCK_BYTES: usize = 4 << 20;

/// The most bytes that are read of a line. The gateway refuses lines of more than 64 KiB.
const KEPT_OF_LINE: usize = (64 << 10) + 1;

/// Accounts that are read from the database at a time.
const EXPORT_PAGE: u32 = 500;

/// Imports a file in blocks of lines, and prints the lines that were refused. The memory does not
/// grow with the file: answers are printed as they come.
///
/// # Errors
/// If the file cannot be read, if the gateway does not respond, or if a line was refused.
pub(super) async fn import(arguments: &ImportArguments) -> Result<(), OperatorError> {
    let ImportArguments { file, replace, list, gateway } = arguments;
    let gateway = RunningGateway::at(gateway)?;
    let query: &[(&str, &str)] = if *replace { &[("replace", "true")] } else { &[] };
    let of_file = |error| OperatorError::File { file: file.clone(), error };
    let mut source = BufReader::new(File::open(file).map_err(of_file)?);
    let mut progress = ProgressLine::open();
    let mut report = Report::new(list.json)?;
    let mut before = 0;
    let imported = loop {
        let (block, lines) = match read_block(&mut source) {
            Ok(read) => read,
            Err(error) => break Err(of_file(error)),
        };
        if lines == 0 {
            break Ok(());
        }
        let expected = answered_lines(&block);
        let answers = match gateway.lines(&["admin", "integrations", "import"], query, block).await {
            Ok(answers) => answers,
            Err(error) => break Err(error.into()),
        };
        let is_whole = answers.len() >= expected;
        report.add(answers, before)?;
        // The gateway has stopped in the middle, such as on a full disk.
        if !is_whole {
            break Err(OperatorError::CutOff { answered: report.count() });
        }
        before += lines;
        if let Some(line) = &mut progress {
            line.show(format_args!("importing: {before} lines"));
        }
    };
    if let Some(line) = progress {
        line.end();
    }
    let ended = report.end();
    imported.and(ended)
}

/// Reads lines up to [`BLOCK_LINES`] or [`BLOCK_BYTES`]. The last line of the file may have no line
/// break.
fn read_block(source: &mut impl BufRead) -> io::Result<(Vec<u8>, u64)> {
    let (mut block, mut lines) = (Vec::new(), 0);
    while lines < BLOCK_LINES && block.len() < BLOCK_BYTES && read_line(source, &mut block)? {
        lines += 1;
    }
    Ok((block, lines))
}

/// The number of lines of a block that the gateway answers: all but blank ones.
fn answered_lines(block: &[u8]) -> usize {
    let block = block.strip_prefix("\u{feff}".as_bytes()).unwrap_or(block);
    let is_blank = |line: &[u8]| line.len() < KEPT_OF_LINE && line.iter().all(u8::is_ascii_whitespace);
    block.split(|byte| *byte == b'\n').filter(|line| !is_blank(line)).count()
}

/// Appends a line to a block. Returns `false` at the end of the file. Of a line that the gateway
/// refuses because of its length, only the beginning is kept, which is too long as well.
fn read_line(source: &mut impl BufRead, block: &mut Vec<u8>) -> io::Result<bool> {
    let begin = block.len();
    let mut is_empty = true;
    loop {
        let piece = source.fill_buf()?;
        if piece.is_empty() {
            return Ok(!is_empty);
        }
        is_empty = false;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let content = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
        let room = KEPT_OF_LINE.saturating_sub(block.len() - begin);
        block.extend_from_slice(content.get(..room).unwrap_or(content));
        let read = content.len() + usize::from(end.is_some());
        source.consume(read);
        if end.is_some() {
            block.push(b'\n');
            return Ok(true);
        }
    }
}

/// The report about an import: a table of the refused lines, or a JSON list of all answers.
struct Report {
    as_json: bool,
    created: u64,
    unchanged: u64,
    replaced: u64,
    refused: u64,
}

impl Report {
    fn new(as_json: bool) -> io::Result<Self> {
        if as_json {
            print_json("[")?;
        }
        Ok(Self { as_json, created: 0, unchanged: 0, replaced: 0, refused: 0 })
    }

    /// The number of answers.
    fn count(&self) -> u64 {
        self.created + self.unchanged + self.replaced + self.refused
    }

    /// Prints the answers to a block, which `before` lines precede.
    fn add(&mut self, answers: Vec<Value>, before: u64) -> io::Result<()> {
        for mut answer in answers {
            answer["line"] = (answer["line"].as_u64().unwrap_or_default() + before).into();
            if self.as_json {
                let comma = if self.count() == 0 { "" } else { "," };
                print_json(format_args!("{comma}{answer}"))?;
            }
            match answer["status"].as_str() {
                Some("created") => self.created += 1,
                Some("unchanged") => self.unchanged += 1,
                Some("replaced") => self.replaced += 1,
                _ => {
                    if !self.as_json {
                        if self.refused == 0 {
                            print(format_args!("{:<10}  REFUSED BECAUSE", "LINE"))?;
                        }
                        let error = answer["error"].as_str().unwrap_or_default();
                        print(format_args!("{:<10}  {}", answer["line"].to_string(), one_line(error)))?;
                    }
                    self.refused += 1;
                }
            }
        }
        Ok(())
    }

    fn end(self) -> Result<(), OperatorError> {
        if self.as_json {
            print_json("]")?;
        }
        let Self { created, unchanged, replaced, refused, .. } = self;
        remark(format_args!("{created} created, {replaced} replaced, {unchanged} unchanged, {refused} refused."));
        if refused > 0 { Err(OperatorError::Refused { refused, lines: self.count() }) } else { Ok(()) }
    }
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
    let created = create(file).map_err(of_file)?;
    let writing = write_accounts(&store, &vault, file, created, recipient);
    let Exported { written, damaged } = match unless_stopped(writing).await {
        Ok(exported) => exported,
        // A part of the file cannot be decrypted, and it would be in the way of the next export.
        Err(error) => {
            std::fs::remove_file(file).map_err(of_file)?;
            return Err(error);
        }
    };
    remark(format_args!("Wrote {written} accounts to {}. `age --decrypt` reads it.", file.display()));
    if damaged > 0 { Err(OperatorError::Damaged { damaged }) } else { Ok(()) }
}

/// The numbers of accounts in an export.
struct Exported {
    /// The number of accounts in the file.
    written: u64,
    /// The number of accounts that were left out.
    damaged: u64,
}

/// Writes all accounts to a file that was created for them, and the entry in the audit.
async fn write_accounts(
    store: &Store,
    vault: &Vault,
    file: &Path,
    created: File,
    recipients: &[Recipient],
) -> Result<Exported, OperatorError> {
    let of_file = |error| OperatorError::File { file: file.to_owned(), error };
    let mut output = Encryptor::new(BufWriter::new(created), recipients).map_err(of_file)?;
    let mut progress = ProgressLine::open();
    let mut filter = AnyIntegrationFilter { limit: EXPORT_PAGE, ..AnyIntegrationFilter::default() };
    let (mut written, mut damaged) = (0_u64, 0_u64);
    loop {
        let page = store.integrations().all(filter.clone()).await?;
        let Some(last) = page.last() else { break };
        filter.before = Some((last.created_at, last.id.clone()));
        for integration in &page {
            match export_line(vault, integration).await? {
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
    // The file is no part of the database, so no transaction has both. The entry is written before
    // the last part of the file, so that no complete file is without its entry.
    let detail = format!("{written} accounts");
    store.audit().note(AuditAction::IntegrationExported, "integrations", "", &detail).await?;
    let mut output = output.finish().map_err(of_file)?;
    output.flush().and_then(|()| output.get_ref().sync_all()).map_err(of_file)?;
    Ok(Exported { written, damaged })
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
        // The sealed form has the members of an import.
        credentials = match vault.unseal_json(&holder.secret_context(user_identifier), sealed).await {
            Ok(Ok(members)) => members,
            Err(VaultError::Store(error)) => return Err(error.into()),
            Ok(Err(_)) | Err(_) => return Ok(None),
        };
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
    if !details.account.address.is_empty() {
        line["address"] = json!(details.account.address);
    }
    if !holder.subject.is_empty() {
        line["subject"] = holder.subject.as_str().into();
    }
    Ok(Some(line))
}

fn rfc3339(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at.max(UNIX_EPOCH)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_in_blocks_of_bounded_size() {
        let file = "a\n".repeat(1001) + "last";
        let mut source = BufReader::with_capacity(7, file.as_bytes());
        let (first, lines) = read_block(&mut source).unwrap();
        assert_eq!((first.len(), lines), (2000, 1000));
        assert_eq!(read_block(&mut source).unwrap(), (b"a\nlast".to_vec(), 2));
        assert_eq!(read_block(&mut source).unwrap(), (Vec::new(), 0));
        let long = [vec![b'x'; 70_000 * 100], b"\n\nnext\n".to_vec()].concat();
        let mut source = BufReader::new(&long[..]);
        let (block, lines) = read_block(&mut source).unwrap();
        assert_eq!((block.len(), lines), (KEPT_OF_LINE + 1 + 1 + 5, 3));
        assert!(block.ends_with(b"x\n\nnext\n"));
        let wide = "y".repeat(60_000) + "\n";
        let mut source = BufReader::new(io::Cursor::new(wide.repeat(200)));
        let (block, lines) = read_block(&mut source).unwrap();
        assert!(block.len() < BLOCK_BYTES + wide.len() && lines < 200, "{lines}");
    }

    #[test]
    fn blank_lines_get_no_answer() {
        let long = " ".repeat(KEPT_OF_LINE);
        let marked = [("\u{feff}\na\n", 1), ("\u{feff}a\n", 1)];
        for (block, expected) in [("", 0), ("a\n\n \r\nb", 2), (long.as_str(), 1)].into_iter().chain(marked) {
            assert_eq!(answered_lines(block.as_bytes()), expected, "{block:.20}");
        }
    }
}
