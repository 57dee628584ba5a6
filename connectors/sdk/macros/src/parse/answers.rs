//! Examples of answers: a JSON file in the crate's folder, an object with an answer for each
//! operation.

use std::path::PathBuf;
use std::{env, fs};

use serde_json::{Map, Value};
use syn::LitStr;
use syn::parse::{Parse, ParseStream};

use super::literal;
use super::row::Row;
use crate::errors::Errors;

/// `answer_examples "answers.json";`
pub(crate) struct AnswerExamples {
    file: LitStr,
}

impl Parse for AnswerExamples {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self { file: literal(input, "the path of a JSON file")? })
    }
}

impl AnswerExamples {
    /// The absolute path. It depends on the machine, so messages do not contain it.
    pub(crate) fn path(&self) -> String {
        let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        folder.join(self.file.value()).to_string_lossy().into_owned()
    }

    /// Gives each row its answer. Returns `false` if the file cannot be read.
    pub(crate) fn distribute(&self, rows: &mut [Row], errors: &mut Errors) -> bool {
        let span = self.file.span();
        let mut answers = match self.read() {
            Ok(answers) => answers,
            Err(reason) => {
                errors.at(span, reason);
                return false;
            }
        };
        for row in rows {
            row.answer_example = answers.remove(&row.name.text);
        }
        for name in answers.keys() {
            errors.at(span, format!("the file has an answer of `{name}`, but there is no such operation"));
        }
        true
    }

    fn read(&self) -> Result<Map<String, Value>, String> {
        let text = fs::read_to_string(self.path()).map_err(|error| {
            format!("the file cannot be read; its path is relative to the crate's Cargo.toml: {error}")
        })?;
        serde_json::from_str(&text).map_err(|error| format!("the file is not a JSON object of answers: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// The table with two operations whose answers are in a file with this text, and its mistakes.
    fn table(name: &str, text: &str) -> (Vec<Option<String>>, String) {
        let file = env::temp_dir().join(format!("{name}-{}.json", std::process::id()));
        fs::write(&file, text).expect("a file");
        let path = file.to_string_lossy();
        let mut errors = Errors::default();
        let tokens = quote! {
            connector example "Example";
            answer_examples #path;
            list: GET api "/list";
            remove: DELETE api "/list";
        };
        let table = crate::parse::table(tokens, &mut errors);
        fs::remove_file(&file).expect("the file");
        let answers = table.rows.iter().map(|row| row.answer_example.as_ref().map(Value::to_string)).collect();
        (answers, errors.into_tokens().to_string())
    }

    #[test]
    fn each_operation_gets_its_answer() {
        let (answers, mistakes) = table("each", r#"{"list": {"b": [1, 2.50], "a": null}}"#);
        assert_eq!(answers, [Some(r#"{"b":[1,2.5],"a":null}"#.to_owned()), None]);
        assert_eq!(mistakes, "");
    }

    #[test]
    fn a_file_with_an_unknown_operation_or_without_an_object_is_a_mistake() {
        let (answers, mistakes) = table("unknown", r#"{"lists": {}, "remove": {}}"#);
        assert_eq!(answers, [None, Some("{}".to_owned())]);
        assert!(mistakes.contains("an answer of `lists`, but there is no such operation"), "{mistakes}");
        for (name, text) in [("list", "[]"), ("text", "{")] {
            let (answers, mistakes) = table(name, text);
            assert_eq!(answers, [None, None]);
            assert!(mistakes.contains("not a JSON object of answers"), "{mistakes}");
        }
    }
}
