//! The list of documents, and new documents.

use connector_sdk::http::{self, Method};
use connector_sdk::{Document, Fault, Outcome, Request};
use serde::Serialize;

use crate::batch::not_understood;
use crate::{CreateDocument, ListDocuments};

/// Media type of a document of Google Docs.
const DOCUMENT: &str = "application/vnd.google-apps.document";

/// Members of the list. Google would leave out most of them.
const FIELDS: &str = "nextPageToken,incompleteSearch,files(id,name,mimeType,createdTime,modifiedTime,owners(displayName,emailAddress),lastModifyingUser(displayName,emailAddress),parents,webViewLink)";

/// Drive's name for the folder that new documents are in.
const ROOT: &str = "root";

pub(crate) fn list(input: ListDocuments) -> Result<Outcome, Fault> {
    let mut search = format!("mimeType='{DOCUMENT}' and trashed=false");
    if let Some(q) = input.q.as_deref().map(str::trim).filter(|q| !q.is_empty()) {
        check(q)?;
        search.push_str(&format!(" and ({q})"));
    }
    let mut request = Request::get("drive", "/files").query("q", search).query("pageSize", input.page_size);
    for (name, value) in [("pageToken", input.page_token), ("orderBy", input.order_by)] {
        if let Some(value) = value {
            request = request.query(name, value);
        }
    }
    let request = request.query("supportsAllDrives", true).query("includeItemsFromAllDrives", true);
    Ok(Outcome::Forward(request.query("fields", FIELDS)))
}

/// Checks that a search expression stays within the parentheses that the connector puts around it.
fn check(q: &str) -> Result<(), Fault> {
    let refuse = |detail: &str| Err(Fault::invalid_input("/q", detail));
    let mut depth = 0_usize;
    let mut quote = None;
    let mut characters = q.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return refuse("Remove the closing parenthesis that has no opening one."),
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
    }
    if quote.is_some() {
        return refuse("Close the quotes. A quote inside of quotes has a backslash before it.");
    }
    if depth > 0 { refuse("Close the parentheses.") } else { Ok(()) }
}

pub(crate) fn create(input: CreateDocument) -> Result<Outcome, Fault> {
    let parent = input.parent_folder_id.as_str();
    if parent == ROOT {
        #[derive(Serialize)]
        struct New<'a> {
            title: &'a str,
        }
        let request = Request::post("docs", "/documents").json(text(&New { title: &input.title })?);
        return answer(&http::send(request)?.successful()?.document()?, parent);
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct New<'a> {
        name: &'a str,
        mime_type: &'a str,
        parents: [&'a str; 1],
    }
    let body = text(&New { name: &input.title, mime_type: DOCUMENT, parents: [parent] })?;
    let request = Request::new(Method::Post, "drive", "/files").query("supportsAllDrives", true).query("fields", "id");
    let file = http::send(request.json(body))?.successful()?.document()?;
    let id = file.string("/id").ok_or_else(|| not_understood("the new file has no `id`"))?;
    // The document exists, so the call must not fail: the caller would create it again.
    read(&id).and_then(|document| answer(&document, parent)).or_else(|_| {
        Outcome::json(&Created {
            title: &input.title,
            parent_folder_id: parent,
            web_view_link: link(&id),
            document_id: &id,
        })
    })
}

/// The answer if the new document cannot be read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Created<'a> {
    document_id: &'a str,
    title: &'a str,
    parent_folder_id: &'a str,
    web_view_link: String,
}

fn read(id: &str) -> Result<Document, Fault> {
    let request = Request::get("docs", "/documents").segment("document_id", id)?;
    Ok(http::send(request)?.successful()?.document()?)
}

/// The document with its folder and its address.
fn answer(document: &Document, parent: &str) -> Result<Outcome, Fault> {
    let id = document.string("/documentId").ok_or_else(|| not_understood("the document has no `documentId`"))?;
    let document = document.text();
    let members = document.trim_end().strip_suffix('}').unwrap_or_default();
    let (parent, link) = (text(&parent)?, text(&link(&id))?);
    Ok(Outcome::Reply(format!(r#"{members},"parentFolderId":{parent},"webViewLink":{link}}}"#)))
}

fn link(id: &str) -> String {
    format!("https://docs.google.com/document/d/{id}/edit")
}

fn text(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Failed(error.to_string()))
}
