//! From an operation to a row.

use contract_rules::schema::{Field as Spec, Kind};
use contract_rules::{name as rule, path as path_rule};
use serde_json::{Map, Value};

use crate::body::{self, Body};
use crate::document::{Document, text};
use crate::parameter;
use crate::schema::Reader;
use crate::security::KeyPlace;
use crate::server::Servers;
use crate::table::{Answers, Field, Place, Row};
use crate::{LeftOut, OpenapiError, example, name};

/// The methods that a row may have, as a document writes them.
const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

/// The methods that a document may have and a row may not.
const OTHER_METHODS: [&str; 3] = ["options", "trace", "query"];

/// An operation of a document.
pub(crate) struct Operation<'a> {
    /// The name in the table.
    name: String,
    method: String,
    path: &'a str,
    item: &'a Map<String, Value>,
    pub(crate) content: &'a Value,
}

/// The operations with these names, or all. If all are wanted, what is no operation is added to
/// the parts that are left out.
pub(crate) fn chosen<'a>(
    document: &'a Document,
    names: &[String],
    left_out: &mut LeftOut,
) -> Result<Vec<Operation<'a>>, OpenapiError> {
    if names.is_empty() {
        note_others(document, left_out);
    }
    let all = all(document);
    for name in names {
        if !all.iter().any(|operation| operation.is(name)) {
            let known = all.iter().flat_map(|operation| [operation.id(), operation.name.as_str()]);
            let best = known.map(|known| (strsim::jaro_winkler(known, name), known)).max_by(|a, b| a.0.total_cmp(&b.0));
            let near = best.filter(|(likeness, _)| *likeness > 0.7).map(|(_, known)| known.to_owned());
            return Err(OpenapiError::Unknown { name: name.clone(), near });
        }
    }
    let is_chosen = |operation: &Operation<'_>| names.is_empty() || names.iter().any(|name| operation.is(name));
    Ok(all.into_iter().filter(is_chosen).collect())
}

/// Paths that cannot be read, and operations with other methods.
fn note_others(document: &Document, left_out: &mut LeftOut) {
    for (path, item) in document.paths() {
        match item {
            Err(why) => left_out.add_of(path, format!("the path: {why}")),
            Ok(item) => {
                for method in OTHER_METHODS.into_iter().filter(|method| item.contains_key(*method)) {
                    let title = format!("{} {path}", method.to_uppercase());
                    left_out.add_of(&title, "the operation: a row has no such method".to_owned());
                }
            }
        }
    }
}

fn all(document: &Document) -> Vec<Operation<'_>> {
    let mut all: Vec<Operation<'_>> = Vec::new();
    for (path, item) in document.paths() {
        let Ok(item) = item else { continue };
        for method in METHODS {
            let Some(content) = item.get(method).filter(|content| content.is_object()) else { continue };
            let method = method.to_uppercase();
            let wanted = match text(content, "operationId") {
                "" => name::of_path(&method, path),
                id => name::operation(id),
            };
            let is_taken = |name: &str| rule::operation(name).is_err() || all.iter().any(|known| known.name == name);
            all.push(Operation { name: name::free(wanted, is_taken), method, path, item, content });
        }
    }
    all
}

impl Operation<'_> {
    fn id(&self) -> &str {
        text(self.content, "operationId")
    }

    fn is(&self, name: &str) -> bool {
        name == self.name || name == self.id() || name == self.title()
    }

    /// Method and path.
    fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The row. `None` if a table cannot express the operation. The reason is then added to the
    /// parts that are left out.
    pub(crate) fn row(
        &self,
        document: &Document,
        servers: &mut Servers,
        key: Option<&KeyPlace>,
        left_out: &mut LeftOut,
    ) -> Option<Row> {
        let title = self.title();
        let mut reader = Reader::new(document, left_out, title.clone());
        match self.read(&mut reader, servers, key) {
            Ok(row) => Some(row),
            Err(why) => {
                reader.note_operation(format!("the operation: {why}"));
                None
            }
        }
    }

    fn read(&self, reader: &mut Reader<'_>, servers: &mut Servers, key: Option<&KeyPlace>) -> Result<Row, String> {
        if self.path.contains('?') && self.path.split_once('?').is_some_and(|(_, query)| query.contains('{')) {
            return Err("the query in its path has parameters".to_owned());
        }
        let document = reader.document;
        let has_credential = crate::security::is_protected(document, self.content);
        let mut fields: Vec<Field> = Vec::new();
        let mut names: Vec<(String, String)> = Vec::new();
        let parameters = parameter::parameters(document, self.item, self.content, |why| reader.note_operation(why));
        for parameter in parameters {
            if key.is_some_and(|key| key.is_at(parameter)) {
                parameter::note_credential(reader, text(parameter, "name"));
                continue;
            }
            let Some(field) = parameter::field(reader, parameter, self.path, has_credential, &fields)? else {
                continue;
            };
            if field.place == Place::Path {
                names.push((text(parameter, "name").to_owned(), field.spec.name.clone()));
            }
            fields.push(field);
        }
        let mut undeclared = Vec::new();
        let path = parameter::renamed_path(self.path, |given| {
            if let Some((_, name)) = names.iter().find(|(known, _)| known == given) {
                return name.clone();
            }
            let name = name::free(name::field(given), |name| fields.iter().any(|field| field.spec.name == name));
            undeclared.push(name.clone());
            names.push((given.to_owned(), name.clone()));
            name
        });
        fields.extend(undeclared.into_iter().map(path_field));
        let filled = parameter::renamed_path(&path, |_| "x".to_owned()).replace(['{', '}'], "");
        path_rule::check(&filled).map_err(|broken| format!("its path: {broken}"))?;
        let has_none = matches!(self.method.as_str(), "GET" | "HEAD");
        let body = match body::read(reader, self.content, &fields) {
            Err(why) if !has_none || body::is_required(reader, self.content) => return Err(why),
            Ok(body) if !has_none || body.fields.is_empty() => body,
            _ => {
                reader.note_operation("its body, because a GET request has no body");
                Body::default()
            }
        };
        fields.extend(body.fields);
        let answered = body::response_content(reader, self.content);
        let (answers, answer) = answered.map_or((Answers::Json, None), answers);
        let upstream = servers.upstream_for(self.item, self.content)?;
        let mut row = Row {
            name: self.name.clone(),
            documentation: body::operation_documentation(self.content, &self.title()),
            method: self.method.clone(),
            upstream,
            path,
            fields,
            format: body.format,
            answers,
            answer,
            example: None,
        };
        row.example = example::for_row(&row);
        Ok(row)
    }
}

/// A name in the path that the document does not declare.
fn path_field(name: String) -> Field {
    let mut spec = Spec::new(name, Kind::String);
    spec.in_path = true;
    Field { spec, place: Place::Path, upstream_name: None, encoding: None, example: None }
}

/// The kind of an answer with this content, and the schema of its JSON form.
fn answers(content: &Map<String, Value>) -> (Answers, Option<Value>) {
    const OF_FILES: [&str; 6] =
        ["image/", "audio/", "video/", "application/octet-stream", "application/pdf", "application/zip"];
    let is_file = |media_type: &String| OF_FILES.iter().any(|prefix| media_type.starts_with(prefix));
    if let Some((_, json)) = content.iter().find(|(media_type, _)| body::is_json(media_type)) {
        (Answers::Json, json.get("schema").cloned())
    } else if content.keys().all(is_file) {
        (Answers::File, None)
    } else {
        (Answers::Any, None)
    }
}
