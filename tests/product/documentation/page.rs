//! The fenced blocks of a page. The words after the fence say what a block is; readers of the page
//! do not see them.

use std::fs;

use support::module;

/// The use of a block for a reader.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// ` ```sh `: commands.
    Commands {
        /// ` ```sh background `: they run until the page ends, in another terminal.
        background: bool,
        /// ` ```sh made `: they build the gateway from its source, as `make` did before this test.
        made: bool,
    },
    /// ` ```text `: what the commands before it print. `…` stands for any text, and alone on a line
    /// for any lines.
    Output {
        /// ` ```text background `: lines in the other terminal, which come sooner or later.
        background: bool,
    },
    /// ` ```rust src/lib.rs `: a file of this content.
    File(String),
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The number of its first line in the page.
    pub(super) line: usize,
}

/// The text of a page in `connectors/docs`.
pub(super) fn text(name: &str) -> String {
    fs::read_to_string(module::root().join("connectors/docs").join(name)).unwrap()
}

/// The blocks of a page.
pub(super) fn read(name: &str) -> Vec<Block> {
    let text = text(name);
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(words) = line.strip_prefix("```") else { continue };
        let content = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
        let text = content.fold(String::new(), |text, line| text + line + "\n");
        let kind = kind(words)
            .unwrap_or_else(|| panic!("{name}:{}: the block says neither commands nor output nor a file", number + 1));
        blocks.push(Block { kind, text, line: number + 2 });
    }
    blocks
}

fn kind(words: &str) -> Option<Kind> {
    let (language, argument) = words.split_once(' ').unwrap_or((words, ""));
    match (language, argument) {
        ("sh", "" | "background" | "made") => {
            Some(Kind::Commands { background: argument == "background", made: argument == "made" })
        }
        ("text", "" | "background") => Some(Kind::Output { background: argument == "background" }),
        (_, "") => None,
        (_, file) => Some(Kind::File(file.to_owned())),
    }
}
