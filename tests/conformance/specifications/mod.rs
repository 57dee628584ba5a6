//! The providers' own specifications. Each format is read into one form: [`Method`].
//!
//! # Layout
//! - here: the folder with the specifications, and the way from the catalogue's name of a method to
//!   the method
//! - [`method`]: a method of a provider; [`template`]: its address
//! - [`discovery`], [`openapi`], [`slack`]: the formats
//! - [`graph`]: what Microsoft's documents lack
//!
//! # The folder
//! - `google/*.json`: Google's discovery documents
//! - `github`, `x`, `dexscreener`: `*.openapi.json`
//! - `msgraph/*.openapi.json`: Microsoft Graph in parts; `msgraph/schema-current.csdl.json`: its
//!   current schema, CSDL as JSON
//! - `slack/methods-current`: a document for each method, named after it; `slack/samples`: answers,
//!   named likewise

mod discovery;
mod graph;
mod method;
pub(crate) mod openapi;
mod slack;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::module;

pub(crate) use self::method::{Answer, Method};
pub(crate) use self::template::Template;

/// The methods of every provider with a specification, by the provider's name in the catalogue.
pub(crate) struct Specifications {
    methods: BTreeMap<&'static str, Vec<Method>>,
}

/// The folder with the specifications: `SPECS_DIR`, or `../shared/specs` next to the checkout.
/// `None` if there is no such folder.
///
/// # Panics
/// When `SPECS_DIR` is set and is no folder.
pub(crate) fn folder() -> Option<PathBuf> {
    match std::env::var_os("SPECS_DIR").map(PathBuf::from) {
        Some(folder) if folder.is_dir() => Some(folder),
        Some(folder) => {
            panic!("SPECS_DIR is {}, which is no folder. Set it to a folder with specifications.", folder.display())
        }
        None => Some(module::root().join("../shared/specs")).filter(|folder| folder.is_dir()),
    }
}

impl Specifications {
    /// Reads the specifications of a folder.
    ///
    /// # Panics
    /// When a document is missing or is not what it should be.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut methods: BTreeMap<&'static str, Vec<Method>> = BTreeMap::new();
        for (_, document) in documents(&folder.join("google")) {
            methods.entry("google").or_default().extend(discovery::methods(&document));
        }
        for provider in ["github", "x", "dexscreener"] {
            let found = documents(&folder.join(provider)).into_iter().filter(|(name, _)| name.ends_with(".openapi"));
            methods.insert(provider, found.flat_map(|(_, document)| openapi::methods(&document)).collect());
        }
        let mut microsoft: BTreeMap<String, Value> = documents(&folder.join("msgraph")).into_iter().collect();
        let current = microsoft.remove("schema-current.csdl").expect("the current schema of Microsoft Graph is there");
        for document in microsoft.values_mut().filter(|document| document["openapi"].is_string()) {
            graph::complete(document, &current);
            methods.entry("microsoft").or_default().extend(openapi::methods(document));
        }
        let mut samples: BTreeMap<String, Value> = documents(&folder.join("slack/samples")).into_iter().collect();
        for (name, document) in documents(&folder.join("slack/methods-current")) {
            let sample = samples.remove(&name).map(|mut sample| {
                // The samples show all members that an answer can have, and are of failures for
                // this reason.
                sample["ok"] = json!(true);
                sample
            });
            methods.entry("slack").or_default().push(slack::method(&name, &document, sample));
        }
        Self { methods }
    }

    /// All methods of a provider. `None` if it has no machine-readable specification.
    pub(crate) fn of(&self, provider: &str) -> Option<&[Method]> {
        self.methods.get(provider).map(Vec::as_slice)
    }

    /// The methods that a call of an operation of the catalogue refers to, or the reason why there
    /// are none. `base` is the base URL of the call's upstream.
    pub(crate) fn methods(
        &self,
        provider: &str,
        operation: &Value,
        call: &Value,
        base: &str,
    ) -> Result<Vec<Method>, String> {
        let Some(methods) = self.methods.get(provider) else {
            return Err("the provider has no machine-readable specification".to_owned());
        };
        let Some(name) = call["spec"].as_str() else { return Err("the catalogue names no method".to_owned()) };
        if name.starts_with("docs:") && provider == "microsoft" {
            let (verb, path) = (call["method"].as_str().unwrap(), call["path"].as_str().unwrap());
            let method = graph::method(methods, verb, path, |name| keeps_slashes(operation, name));
            return method.map(|method| vec![method]).ok_or_else(|| format!("the specification lacks {verb} {path}"));
        }
        let named = methods.iter().filter(|method| method.names.iter().any(|one| one == name));
        let found: Vec<Method> = named.filter(|method| method.url.is_below(base)).cloned().collect();
        match found.is_empty() {
            true => Err(format!("the specification lacks {}", name.trim_start_matches("docs:octokit "))),
            false => Ok(found),
        }
    }
}

/// Returns `true` if the value of a field of an operation keeps its slashes in a path.
pub(crate) fn keeps_slashes(operation: &Value, field: &str) -> bool {
    operation["fields"][field]["encoding"] == "path"
}

/// The JSON documents of a folder with their names, in the order of the names.
pub(crate) fn documents(folder: &Path) -> Vec<(String, Value)> {
    let files = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let json = paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| {
        let document = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), document)
    })
    .collect()
}
