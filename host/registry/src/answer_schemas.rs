//! The schemas of answers that a module has next to its manifest. The gateway checks them when it
//! loads the module, and holds none of them: it reads the file of the module again when they are
//! asked for.

use std::io::{BufReader, Cursor};

use super::refusal::Refusal;
use super::{Connector, Registry};
use contract::{Answer, AnswerSchemas, Manifest, misfit};
use sandbox::answer_schemas::{self, SectionError};

/// Reads and checks the schemas of a module. `None` if it has none.
///
/// # Errors
/// If they break a rule or do not belong to the manifest.
pub(super) fn of_module(module: &[u8], manifest: &Manifest) -> Result<Option<AnswerSchemas>, Refusal> {
    let Some(schemas) = answer_schemas::read(&mut Cursor::new(module)).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    for operation in schemas.operations() {
        check(&schemas, operation, manifest)
            .map_err(|reason| format!("its module has an answer schema of `{operation}`, but {reason}"))?;
    }
    Ok(Some(schemas))
}

fn check(schemas: &AnswerSchemas, operation: &str, manifest: &Manifest) -> Result<(), String> {
    let described = manifest.operations.iter().find(|described| described.path == operation);
    let described = described.ok_or("there is no such operation")?;
    if described.answer_schema.is_some() {
        return Err("its manifest has one too; leave one of them out".to_owned());
    }
    if described.answer == Answer::File {
        return Err("the operation answers a file".to_owned());
    }
    let example = described.answer_example.as_deref().and_then(|text| serde_json::from_str(text).ok());
    match example.zip(schemas.get(operation)).and_then(|(example, schema)| misfit(&schema, &example)) {
        Some(place) => Err(format!("its answer-example has another type at `{place}`")),
        None => Ok(()),
    }
}

impl Registry {
    /// The schemas of answers of a live connector that are not in its manifest. Reads the file of its
    /// module, which blocks. Empty if it has none, or if the file cannot be read.
    pub fn answer_schemas(&self, connector: &Connector) -> AnswerSchemas {
        if !connector.has_answer_schemas() {
            return AnswerSchemas::default();
        }
        let file = self.versions.file(connector.name(), connector.origin(), connector.digest());
        let opened = files::open_regular(&file).map_err(SectionError::from);
        let found = opened.and_then(|file| answer_schemas::read(&mut BufReader::new(file)));
        found.map(Option::unwrap_or_default).unwrap_or_else(|error| {
            let (connector, file) = (connector.name(), file.display());
            tracing::warn!(%connector, %file, %error, "the schemas of its answers cannot be read");
            AnswerSchemas::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use contract::sample;

    type Change = fn(&mut contract::Operation);

    /// Why a manifest with the operation `list` does not fit schemas.
    fn refusal(schemas: &Value, change: impl FnOnce(&mut contract::Operation)) -> Option<String> {
        let mut manifest = sample::manifest();
        let operation = &mut manifest.operations[0];
        operation.path = "list".to_owned();
        change(operation);
        let schemas = AnswerSchemas::parse(&schemas.to_string()).unwrap();
        schemas.operations().find_map(|operation| check(&schemas, operation, &manifest).err())
    }

    #[test]
    fn schemas_that_do_not_belong_to_the_manifest_are_refused() {
        let list = json!({"list": {"type": "object", "properties": {"n": {"type": "integer"}}}});
        assert_eq!(refusal(&list, |_| ()), None);
        assert_eq!(refusal(&list, |operation| operation.answer_example = Some(r#"{"n": 1}"#.to_owned())), None);
        let mistakes: [(Value, Change, &str); 4] = [
            (json!({"lists": {"type": "object"}}), |_| (), "no such operation"),
            (list.clone(), |operation| operation.answer_schema = Some("{}".to_owned()), "its manifest has one too"),
            (list.clone(), |operation| operation.answer = Answer::File, "answers a file"),
            (list, |operation| operation.answer_example = Some(r#"{"n": "1"}"#.to_owned()), "another type at `/n`"),
        ];
        for (schemas, change, words) in mistakes {
            let reason = refusal(&schemas, change).unwrap();
            assert!(reason.contains(words), "{words}: {reason}");
        }
    }
}
