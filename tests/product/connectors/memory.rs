//! The memory that a connector begins with. The gateway resets it after each invocation: one page
//! is copied, and more pages are returned to the system, which takes longer.

use support::module;
use wasmparser::{Parser, Payload};

/// Connectors that begin with more than one page of 64 KiB, and their pages. They have large tables
/// of data, or they read large documents.
const LARGER: [(&str, u64); 7] = [
    ("code_hosting", 2),
    ("kb_office_sites", 2),
    ("office_sites", 2),
    ("preprint_archive", 2),
    ("workspace_docs", 3),
    ("workspace_mail", 6),
    ("workspace_user_management", 2),
];

/// The pages of all memories of a component.
fn pages(component: &[u8]) -> u64 {
    let memories = Parser::new(0).parse_all(component).filter_map(|payload| match payload.unwrap() {
        Payload::MemorySection(memories) => Some(memories.into_iter().map(|memory| memory.unwrap().initial)),
        _ => None,
    });
    memories.flatten().sum()
}

#[test]
fn connectors_begin_with_one_page_of_memory_unless_they_need_more() {
    let misfits: Vec<String> = module::shipped_names()
        .into_iter()
        .filter_map(|name| {
            let known = LARGER.iter().find(|(larger, _)| *larger == name);
            let most = known.map_or(1, |(_, pages)| *pages);
            let pages = pages(&module::shipped(&name));
            (pages == 0 || pages > most).then(|| format!("{name} begins with {pages} pages instead of {most}"))
        })
        .collect();
    assert_eq!(misfits, [""; 0]);
}
