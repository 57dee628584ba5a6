//! The table of connectors in README.md, compared with the manifests, and the pictures of the
//! pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::Setup;
use support::catalogue::{CONFIGURED, text};
use support::programs::pictures;

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
    let mut use_it = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let Some(used) = text.find("$KEY\"") else { continue };
        let set = text.find("export KEY=cgw_").unwrap_or(text.len());
        assert!(set < used, "{} uses $KEY before it sets it", page.display());
        use_it += 1;
    }
    assert!(use_it >= 4, "{use_it}");
}

/// The most bytes of a picture.
const MAX_PICTURE: usize = 60_000;

/// Browser tests take the pictures that `tests/browser/pictures.json` names, of the screens that
/// are there, and compare the screens with digests in this file. `UPDATE_PICTURES=1 make
/// test-browser` writes both.
#[test]
fn each_picture_of_the_pages_is_small_and_shows_a_screen() {
    let root = root();
    let folder = root.join("host/docs/pictures");
    let mut shown = BTreeSet::new();
    for page in pages() {
        for image in fs::read_to_string(&page).unwrap().split("![").skip(1) {
            let (description, rest) = image.split_once("](").unwrap();
            let file = page.parent().unwrap().join(rest.split(')').next().unwrap());
            assert!(!description.is_empty(), "{} describes {}", page.display(), file.display());
            let picture = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let is_webp = picture.starts_with(b"RIFF") && picture[8..].starts_with(b"WEBP");
            assert!(is_webp && picture.len() <= MAX_PICTURE, "{}: {} bytes", file.display(), picture.len());
            assert_eq!(file.parent().unwrap().canonicalize().unwrap(), folder, "{}", file.display());
            shown.insert(file.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!((&shown, &files), (&pictures().into_iter().map(|(name, _)| name).collect(), &shown));
    let console = fs::read_to_string(root.join("host/operators/src/console/web/app.js")).unwrap();
    for (name, screen) in pictures() {
        assert!(screen["digest"].is_string(), "{name} has no digest: run `UPDATE_PICTURES=1 make test-browser`");
        if let Some(place) = screen["place"].as_str() {
            let first = place.split('/').next().unwrap();
            assert!(console.contains(&format!("\n  {first}: [")), "{name} shows the screen {first}");
        }
        if let Some(program) = screen["program"].as_str() {
            assert!(root.join("tests/browser").join(program).is_file(), "{name} is taken by {program}");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// README.md and the pages for callers and operators.
fn pages() -> impl Iterator<Item = PathBuf> {
    let pages = fs::read_dir(root().join("host/docs")).unwrap().map(|entry| entry.unwrap().path());
    pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")).chain([root().join("README.md")])
}
