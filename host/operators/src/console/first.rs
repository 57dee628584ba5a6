//! The module that the console begins with: the libraries, and the modules that the first screen
//! needs, in one file. A browser needs some milliseconds for each file, and loads at most six at
//! once from a server without HTTP/2, so the first list would wait for many small ones. By the
//! import map, the modules of other screens import the same things from this file.

use std::collections::BTreeSet;

use serde_json::{Map, json};

use super::files::FILES;
use super::filters;
use endpoint::route::Route;

/// The name of the file.
pub(super) const FILE: &str = "first.js";

/// The module of the console. It imports the screen that the console opens with.
const CONSOLE: &str = "app.js";

/// The libraries: the name by which modules import one, its file, and the constant for it.
const LIBRARIES: [(&str, &str, &str); 3] =
    [("preact", "preact.mjs", "preact"), ("preact/hooks", "hooks.mjs", "hooks"), ("htm", "htm.mjs", "htm")];

/// The import map: the file in which the browser finds what modules import.
pub(super) fn import_map() -> String {
    let libraries = LIBRARIES.map(|(name, ..)| name.to_owned());
    let modules = modules().into_iter().map(|name| format!("./console/{name}"));
    let imports = libraries.into_iter().chain(modules).map(|name| (name, format!("./console/{FILE}").into()));
    json!({ "imports": imports.collect::<Map<_, _>>() }).to_string()
}

/// The text of the file: the libraries, and the modules without their imports. Their names outside
/// of functions differ, which a test shows.
pub(super) fn module(routes: &[&[Route]]) -> String {
    let mut text = String::new();
    for (name, file, constant) in LIBRARIES {
        text.push_str(&library(constant, text_of(file)));
        let imported = FILES.iter().flat_map(|(.., text)| imports(text)).filter(|(from, _)| *from == name);
        let named = imported.filter_map(|(_, names)| names.strip_prefix("{ ")?.strip_suffix(" }"));
        let names: BTreeSet<&str> = named.flat_map(|names| names.split(", ")).collect();
        if !names.is_empty() {
            text.push_str(&format!("export const {{ {} }} = {constant};\n", Vec::from_iter(names).join(", ")));
        }
    }
    for name in modules() {
        let made = if name == filters::FILE { filters::module(routes) } else { String::new() };
        for line in text_of(name).lines().filter(|line| !line.starts_with("import ")).chain(made.lines()) {
            text.extend([line, "\n"]);
        }
    }
    text
}

/// A library as a constant with its exports, because two libraries have the same names inside. The
/// file is one line of a minifier, whose imports and exports have this form.
fn library(constant: &str, text: &str) -> String {
    let text = text.lines().next().unwrap_or_default();
    let with_import = text.strip_prefix("import{").and_then(|text| text.split_once("}from\"preact\";"));
    let (imports, text) = match with_import {
        Some((names, text)) => (format!("const{{{}}}=preact;", names.replace(" as ", ":")), text),
        None => (String::new(), text),
    };
    let text = match text.split_once("export{") {
        Some((text, exported)) => {
            let exported = exported.split('}').next().unwrap_or_default().split(',');
            let members: Vec<String> = exported
                .filter_map(|pair| pair.split_once(" as "))
                .map(|(own, name)| format!("{name}:{own}"))
                .collect();
            format!("{text}return{{{}}}", members.join(","))
        }
        None => text.replacen("export default function", "return function", 1),
    };
    format!("const {constant} = (() => {{{imports}{text}}})();\n")
}

/// The modules in the file, each behind those that it imports.
fn modules() -> Vec<&'static str> {
    let mut found = Vec::new();
    add_module(CONSOLE, &mut BTreeSet::new(), &mut found);
    found
}

fn add_module(name: &'static str, seen: &mut BTreeSet<&'static str>, found: &mut Vec<&'static str>) {
    if seen.insert(name) {
        let own = imports(text_of(name)).filter_map(|(from, _)| from.strip_prefix("./"));
        own.for_each(|from| add_module(from, seen, found));
        found.push(name);
    }
}

/// The text of a file. Empty for the module that the gateway makes.
fn text_of(name: &str) -> &'static str {
    FILES.iter().find(|(file, ..)| *file == name).map_or("", |(.., text)| text)
}

/// The imports of a module of ours: from where, and the names. Each import is a line.
pub(super) fn imports(module: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    module.lines().filter_map(|line| {
        let (names, from) = line.strip_prefix("import ")?.split_once(" from ")?;
        Some((from.trim_matches(['"', ';']), names))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that a text declares outside of functions.
    fn declared(text: &str) -> impl Iterator<Item = &str> {
        text.lines().flat_map(|line| {
            let line = line.trim_start_matches("export ").trim_start_matches("async ");
            let rest = ["function ", "const ", "let ", "class "].iter().find_map(|kind| line.strip_prefix(kind));
            let (names, _) = rest.unwrap_or_default().split_once([' ', '(', '=']).unwrap_or_default();
            let names = if names == "{" { line.split(['{', '}']).nth(1).unwrap_or_default() } else { names };
            names.split(", ").map(str::trim).filter(|name| !name.is_empty())
        })
    }

    #[test]
    fn the_file_has_each_module_of_the_first_screen_behind_those_that_it_imports() {
        let modules = modules();
        let place = |name: &str| modules.iter().position(|module| *module == name).unwrap();
        for name in &modules {
            let own = imports(text_of(name)).filter_map(|(from, _)| from.strip_prefix("./"));
            own.for_each(|imported| assert!(place(imported) < place(name), "{name} imports {imported}"));
        }
        assert!(place(filters::FILE) < place("list.js") && place("calls.js") < place("app.js"));
        assert!(!modules.contains(&"settings.js") && !modules.contains(&"overview.js"), "{modules:?}");
    }

    #[test]
    fn the_file_imports_nothing_and_declares_each_name_once() {
        let text = module(&[]);
        assert!(!text.lines().any(|line| line.starts_with("import")), "an import is left");
        assert_eq!(text.matches("export{").count() + text.matches("export default").count(), 0);
        let mut names = BTreeSet::new();
        declared(&text).for_each(|name| assert!(names.insert(name), "two modules declare `{name}`"));
        for name in ["preact", "hooks", "htm", "h", "useState", "useMemo", "placeOf", "words", "Calls", "Table", "root"]
        {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        let imported = modules().into_iter().flat_map(|name| imports(text_of(name)));
        let renamed = imported.filter(|(_, names)| names.contains(" as "));
        assert_eq!(renamed.collect::<Vec<_>>(), [], "the file has each thing by its own name");
    }

    #[test]
    fn a_library_is_a_constant_with_its_exports() {
        assert_eq!(
            library("hooks", "import{options as n}from\"preact\";var t=n;export{t as useState,o as useRef};\n//# map"),
            "const hooks = (() => {const{options:n}=preact;var t=n;return{useState:t,useRef:o}})();\n"
        );
        let of_function = library("htm", "var n=1;export default function(s){return n}");
        assert_eq!(of_function, "const htm = (() => {var n=1;return function(s){return n}})();\n");
    }

    #[test]
    fn the_import_map_names_the_file_for_everything_in_it() {
        let map: serde_json::Value = serde_json::from_str(&import_map()).unwrap();
        let imports = map["imports"].as_object().unwrap();
        for name in ["preact", "preact/hooks", "htm", "./console/parts.js", "./console/app.js"] {
            assert_eq!(imports[name], "./console/first.js", "{name}");
        }
        assert!(!imports.contains_key("./console/settings.js"));
    }
}
