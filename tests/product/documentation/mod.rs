//! The pages of `connectors/docs`: their commands are run as they are, one page in one folder, and
//! must answer what the page says.
//!
//! A page is a list of fenced blocks. [`page`] reads them, [`reader`] does what they say, and
//! [`archive`] is the release of the gateway that they use. [`programs`] are other programs that
//! they call.

mod archive;
mod page;
mod programs;
pub(crate) mod reader;

use std::fs;

use support::module;

use self::reader::Reader;

/// The pages with commands, each with the test that follows it, by the part of the tests that
/// installs what the commands need.
macro_rules! pages {
    ($part:ident $make:literal $($test:ident $file:literal),+ $(,)?) => {
        mod $part {
            pub(super) const PAGES: &[&str] = &[$($file),+];
            $(
                #[test]
                #[ignore = $make]
                fn $test() {
                    super::Reader::new($file).follow();
                }
            )+
        }
    };
}

pages! {
    authors "make test-authors"
    addresses "addresses.md",
    composed "composed.md",
    connector_file "connector-file.md",
    debugging "debugging.md",
    dev "dev.md",
    events "events.md",
    oauth2 "oauth2.md",
    files_and_pages "files-and-pages.md",
    first_connector "first-connector.md",
    from_openapi "from-openapi.md",
    libraries "libraries.md",
    other_repository "other-repository.md",
}

pages! {
    languages "make test-languages"
    c "c.md",
    other_languages "other-languages.md",
    signed_requests "signed.md",
}

/// Pages with commands that other tests follow too.
const FOLLOWED_ELSEWHERE: &[&str] = &["publishing.md", "testing.md"];

#[test]
fn every_page_is_followed_by_a_test() {
    for entry in fs::read_dir(module::root().join("connectors/docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_followed = [authors::PAGES, languages::PAGES, FOLLOWED_ELSEWHERE].concat().contains(&&*name);
        assert!(is_followed || !page::text(&name).contains("\n```"), "{name} has commands, and no test follows it");
    }
}
