//! The table of connectors in README.md, compared with the manifests.

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::Setup;
use support::catalogue::{CONFIGURED, text};

/// The table is between these lines of README.md.
const BEGIN: &str =
    "<!-- connectors: `UPDATE_README=1 make test-product T=readme` writes this table from the manifests -->\n";
const HEAD: &str = "\n| connector | service | operations | users connect an account |\n|---|---|---|---|\n";
const END: &str = "\n<!-- end of connectors -->\n";

/// If the environment has `UPDATE_README`, this test writes the table instead.
#[test]
fn the_readme_lists_every_shipped_connector() {
    let gateway = Setup::new().every_shipped().config(CONFIGURED).start();
    let listed = gateway.client().get("/connectors").ok();
    let rows = listed["connectors"].as_array().unwrap().iter().map(row);
    let table = HEAD.to_owned() + &rows.collect::<String>();

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("README.md has the first line of the table");
    let (found, after) = rest.split_once(END).expect("README.md has the last line of the table");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(path, [before, BEGIN, &table, END, after].concat()).unwrap();
        return;
    }
    assert_eq!(found, table, "the manifests changed: run `UPDATE_README=1 make test-product T=readme`");
}

/// One row, from the entry of a connector in GET /connectors.
fn row(connector: &Value) -> String {
    let operations = connector["operations"].as_array().unwrap().len();
    let account = if connector["auth_type"] == "none" { "no" } else { "yes" };
    format!("| `{}` | {} | {operations} | {account} |\n", text(connector, "connector"), text(connector, "title"))
}

/// The first use of the variable is after the line that sets it.
#[test]
fn each_page_sets_the_key_before_a_command_uses_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pages = fs::read_dir(root.join("host/docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut use_it = 0;
    for page in pages.chain([root.join("README.md")]) {
        let text = fs::read_to_string(&page).unwrap();
        let Some(used) = text.find("$KEY\"") else { continue };
        let set = text.find("export KEY=cgw_").unwrap_or(text.len());
        assert!(set < used, "{} uses $KEY before it sets it", page.display());
        use_it += 1;
    }
    assert!(use_it >= 4, "{use_it}");
}
