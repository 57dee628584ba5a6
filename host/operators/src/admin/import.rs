//! POST /admin/integrations/import: accounts of other systems, one in each line.
//!
//! Lines are read, imported and answered in batches while the body arrives, so that the memory does
//! not grow with their number.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use secrecy::SecretString;

use crate::spool::{SpoolWriter, spool};
use body::Body;
use body::media_type::essence;
use contract::words::sentence;
use contract_rules::text::is_hidden;
use endpoint::body::HIDDEN;
use endpoint::body::StreamedRequest;
use endpoint::page;
use endpoint::record_schema::schema_of_body;
use endpoint::records::{ImportAccount, ImportLine, ImportLineRecord};
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{Import, ImportedCredentials, Key};
use oauth::AccountGrant;
use problem::{self, Problem, read_query};
use schema::{InputError, Schema};
use store::{Account, Holder, Imported};

/// The longest line.
const MAX_LINE: usize = 64 << 10;

/// The most lines that are imported in one transaction.
const BATCH: usize = 100;

/// The media types of lines of JSON.
const MEDIA_TYPES: [&str; 4] =
    ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"];

/// Answers each line as it is imported.
pub async fn import_integrations(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let replaces = parse_query(call.head.uri.query().unwrap_or_default())?;
    check_type(&call.head.headers)?;
    let schema = Schema::compile(&schema_of_body::<ImportLine>().to_string(), false)
        .map_err(|error| problem::INTERNAL.with_detail(format!("The schema of a line {error}.")))?;
    let (answer, answer_body) = spool(&call.gateway.config.data_dir).await.map_err(|error| {
        tracing::error!(%error, "the answer to an import cannot be written to `data_dir`");
        problem::STORE_UNAVAILABLE.with_detail("The gateway cannot write to `data_dir` now; try again.")
    })?;
    let body = call.body.take(call.gateway.config.caller_timeout);
    let lines = Lines::default();
    let import = ImportTask { gateway: Arc::clone(call.gateway), schema, replaces, answer, lines };
    call.gateway.integrations.spawn(import.run(body));
    let mut response = Response::new(answer_body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPES[0]));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn parse_query(query: &str) -> Result<bool, Problem> {
    let mut replaces = false;
    read_query(query, &["replace"], |_, value| {
        replaces = page::one_of(value, &["true", "false"])? == "true";
        Ok(())
    })?;
    Ok(replaces)
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let is_plain = headers.get(CONTENT_ENCODING).is_none_or(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_plain && given.is_some_and(|given| MEDIA_TYPES.iter().any(|known| essence(given).eq_ignore_ascii_case(known)))
    {
        return Ok(());
    }
    Err(problem::UNSUPPORTED_MEDIA_TYPE.with_detail(
        "The body has one JSON object in each line; send it with Content-Type: application/x-ndjson, and without a \
         Content-Encoding.",
    ))
}

/// An import that runs.
struct ImportTask {
    gateway: Arc<Gateway>,
    schema: Schema,
    replaces: bool,
    answer: SpoolWriter,
    lines: Lines,
}

impl ImportTask {
    async fn run(mut self, mut body: StreamedRequest) {
        loop {
            let piece = match body.piece().await {
                Ok(piece) => piece,
                // The lines that have arrived are imported. A part of a line is not. The answer breaks off.
                Err(_) => return,
            };
            let is_last = piece.is_none();
            let lines = match piece {
                Some(piece) => self.lines.split(&piece),
                None => self.lines.finish(),
            };
            for batch in lines.chunks(BATCH) {
                if let Err(error) = self.import(batch).await {
                    tracing::error!(%error, "an import stops, because its answer cannot be written to `data_dir`");
                    return;
                }
            }
            if is_last {
                self.answer.finish();
                return;
            }
        }
    }

    async fn import(&self, batch: &[Line]) -> io::Result<()> {
        let mut imports = Vec::with_capacity(batch.len());
        let mut answers = Vec::with_capacity(batch.len());
        for line in batch {
            match line.content.as_deref().ok_or_else(too_long).and_then(|content| self.parse(content)) {
                Ok(import) => {
                    imports.push(import);
                    answers.push(None);
                }
                Err(error) => answers.push(Some(ImportLineRecord::refused(line.number, error))),
            }
        }
        let mut results = self.gateway.integrations.import(imports, self.replaces).await.into_iter();
        let mut text = Vec::new();
        for (line, refused) in batch.iter().zip(answers) {
            let answer = match refused {
                Some(refused) => refused,
                None => answer_to(line.number, results.next()),
            };
            serde_json::to_writer(&mut text, &answer)?;
            text.push(b'\n');
        }
        self.answer.write(text).await
    }

    /// # Errors
    /// A sentence that says what is wrong with the line.
    fn parse(&self, line: &[u8]) -> Result<Import, String> {
        let input = self.schema.parse(line).map_err(|error| match error {
            // The parser may quote the line.
            InputError::NotJson(_) => "The line is not a JSON object.".to_owned(),
            error => sentence(&error.to_string()),
        })?;
        let line: ImportLine = serde_json::from_str(&input.text).map_err(|_| "The line cannot be read.".to_owned())?;
        let ImportLine { tenant, subject, connector, user_identifier, credentials, scopes, account, address, labels } =
            line;
        let names =
            [("tenant", Some(&tenant)), ("subject", subject.as_ref()), ("user_identifier", Some(&user_identifier))];
        if let Some((member, _)) = names.iter().find(|(_, name)| name.is_some_and(|name| name.contains(is_hidden))) {
            return Err(format!("/{member}: {HIDDEN}"));
        }
        let account = account.unwrap_or_default();
        if let Some(member) = with_zero_byte(&account) {
            return Err(format!("/account/{member}: Must have no zero byte (U+0000)."));
        }
        let expires_at = credentials.expires_at.as_deref().map(page::time).transpose();
        let expires_at = expires_at.map_err(|error| format!("/credentials/expires_at: {error}"))?;
        let grant = credentials.grant.as_deref().map(|grant| AccountGrant::from_export(grant.get())).transpose();
        let grant = grant.map_err(|_| "/credentials/grant: It lacks members that its `type` needs.".to_owned())?;
        let secret = |text: Option<String>| text.map(SecretString::from);
        let of_signing_key = [
            ("access_key_id", credentials.access_key_id),
            ("secret_access_key", credentials.secret_access_key),
            ("session_token", credentials.session_token),
            ("key_id", credentials.key_id),
            ("secret", credentials.secret),
        ];
        let of_signing_key =
            of_signing_key.into_iter().filter_map(|(name, text)| Some((name.to_owned(), secret(text)?))).collect();
        Ok(Import {
            holder: Holder { tenant, subject: subject.unwrap_or_default(), connector },
            user_identifier,
            credentials: ImportedCredentials {
                access_token: secret(credentials.access_token),
                refresh_token: secret(credentials.refresh_token),
                expires_at,
                api_key: secret(credentials.api_key),
                username: credentials.username,
                password: secret(credentials.password),
                signing_key: Key::signing(&of_signing_key),
                grant,
            },
            scopes,
            account: Account {
                id: account.id,
                email: account.email,
                name: account.name,
                address: address.unwrap_or_default(),
            },
            labels,
        })
    }
}

/// The member of an account that the database cannot have. People may have any other character in
/// their names.
fn with_zero_byte(account: &ImportAccount) -> Option<&'static str> {
    let members = [("id", &account.id), ("email", &account.email), ("name", &account.name)];
    members
        .into_iter()
        .find(|(_, text)| text.as_ref().is_some_and(|text| text.contains('\0')))
        .map(|(member, _)| member)
}

fn too_long() -> String {
    format!("The line is longer than {} KiB.", MAX_LINE >> 10)
}

fn answer_to(line: u64, result: Option<Result<Imported, String>>) -> ImportLineRecord {
    match result {
        Some(Ok(Imported::Created(id))) => ImportLineRecord::done(line, "created", id),
        Some(Ok(Imported::Unchanged(id))) => ImportLineRecord::done(line, "unchanged", id),
        Some(Ok(Imported::Replaced(id))) => ImportLineRecord::done(line, "replaced", id),
        Some(Ok(Imported::Differs)) => ImportLineRecord::refused(
            line,
            "An account of this name is connected, with other credentials; `?replace=true` replaces it.".to_owned(),
        ),
        Some(Ok(Imported::TooMany { limit })) => ImportLineRecord::refused(
            line,
            format!("The user has {limit} accounts of this connector, which is the limit."),
        ),
        Some(Err(error)) => ImportLineRecord::refused(line, error),
        None => ImportLineRecord::refused(line, "Send the line again.".to_owned()),
    }
}

/// Splits a body into its lines.
#[derive(Default)]
struct Lines {
    /// The number of lines before the current one.
    count: u64,
    /// The beginning of the current line.
    begun: Vec<u8>,
    /// The current line is longer than [`MAX_LINE`]. Its rest is dropped.
    is_too_long: bool,
}

/// A line that is not blank.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    /// The first line is 1.
    number: u64,
    /// `None` if the line is too long.
    content: Option<Vec<u8>>,
}

impl Lines {
    /// The lines that end in this piece.
    fn split(&mut self, piece: &Bytes) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut rest = &piece[..];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.add(&rest[..end]);
            lines.extend(self.end());
            rest = &rest[end + 1..];
        }
        self.add(rest);
        lines
    }

    /// The last line, if no line break ends it.
    fn finish(&mut self) -> Vec<Line> {
        self.end().into_iter().collect()
    }

    fn add(&mut self, part: &[u8]) {
        if self.is_too_long || self.begun.len() + part.len() > MAX_LINE {
            self.is_too_long = true;
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(part);
        }
    }

    fn end(&mut self) -> Option<Line> {
        self.count += 1;
        let number = self.count;
        let content = std::mem::take(&mut self.begun);
        if std::mem::take(&mut self.is_too_long) {
            return Some(Line { number, content: None });
        }
        let content = if number == 1 { json_text::without_mark(&content).to_vec() } else { content };
        let is_blank = content.iter().all(u8::is_ascii_whitespace);
        (!is_blank).then_some(Line { number, content: Some(content) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<(u64, Option<String>)> {
        let mut split = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            found.extend(split.split(&Bytes::copy_from_slice(piece)));
        }
        found.extend(split.finish());
        let text = |line: Line| (line.number, line.content.map(|content| String::from_utf8(content).unwrap()));
        found.into_iter().map(text).collect()
    }

    #[test]
    fn lines_are_found_in_any_pieces_and_blank_ones_count() {
        let expected = [(1, Some("ab".to_owned())), (3, Some("c".to_owned())), (4, Some("d".to_owned()))];
        for pieces in [&[&b"ab\n\r\nc\nd"[..]][..], &[b"a", b"b\n", b"\r", b"\nc\n", b"d\n"]] {
            assert_eq!(lines(pieces), expected);
        }
        assert_eq!(lines(&[]), []);
    }

    #[test]
    fn a_text_that_the_database_cannot_have_is_named() {
        let account = |name: &str| ImportAccount { name: Some(name.to_owned()), ..ImportAccount::default() };
        assert_eq!(with_zero_byte(&account("Ann \u{200d} Lee\t")), None);
        assert_eq!(with_zero_byte(&account("a\0")), Some("name"));
        let of_two = ImportAccount { id: Some("1".to_owned()), email: Some("\0".to_owned()), ..account("\0") };
        assert_eq!(with_zero_byte(&of_two), Some("email"));
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_ones_are_read() {
        let long = vec![b'x'; MAX_LINE + 1];
        assert_eq!(lines(&[&long, &long, b"\na"]), [(1, None), (2, Some("a".to_owned()))]);
        let longest = vec![b'x'; MAX_LINE];
        assert!(lines(&[&longest])[0].1.is_some());
    }
}
