//! The demonstration's output: headings, commands as a person would type them, and answers of a
//! readable length.

use std::io::{IsTerminal, stdout};

use serde_json::Value;
use support::{Answer, Client};

/// Maximum number of lines of an answer.
const LINES: usize = 20;

/// Maximum number of characters of a line.
const COLUMNS: usize = 118;

/// Objects and lists up to this number of characters stay on one line.
const SHORT: usize = 106;

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";

/// Text in a style if the output is a terminal.
fn styled(style: &str, text: &str) -> String {
    if stdout().is_terminal() { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Prints the heading of a step.
pub(crate) fn heading(number: usize, title: &str) {
    println!("\n{}\n", styled(BOLD, &format!("{number}. {title}")));
}

/// Prints a remark.
pub(crate) fn say(text: &str) {
    println!("  {text}");
}

/// Prints a promise that was kept.
pub(crate) fn kept(promise: &str) {
    println!("  {} {promise}", styled(GREEN, "✓"));
}

/// Prints a command of the shell.
pub(crate) fn command(text: &str) {
    println!("  {} {}\n", styled(DIM, "$"), text.replace('\n', "\n    "));
}

/// Calls an operation, and prints command and answer.
pub(crate) fn call(client: &Client, operation: &str, body: &Value) -> Answer {
    post(client, &format!("/connectors/{operation}"), body)
}

/// Posts a document, and prints command and answer.
pub(crate) fn post(client: &Client, path: &str, body: &Value) -> Answer {
    command(&format!(
        "curl -s $GATEWAY{path} \\\n  -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' \\\n  -d '{body}'"
    ));
    let answer = client.post(path, body.clone());
    document(&answer);
    answer
}

/// Sends DELETE to a path, and prints command and answer.
pub(crate) fn delete(client: &Client, path: &str) -> Answer {
    command(&format!("curl -s -X DELETE $GATEWAY{path} -H \"Authorization: Bearer $KEY\""));
    let answer = client.delete(path);
    document(&answer);
    answer
}

/// Sends GET to a path and prints the command, but not the answer.
pub(crate) fn get(client: &Client, path: &str) -> Answer {
    command(&format!("curl -s $GATEWAY{path} -H \"Authorization: Bearer $KEY\""));
    client.get(path)
}

/// Prints an answer: its status unless it is 200, and its document.
pub(crate) fn document(answer: &Answer) {
    if answer.status != 200 {
        println!("  {}", styled(DIM, &format!("HTTP {}", answer.status)));
    }
    text(&indented(&answer.text()));
}

/// Prints the beginning of a text.
pub(crate) fn text(text: &str) {
    let count = text.lines().count();
    for line in text.lines().take(LINES) {
        let cut: String = line.chars().take(COLUMNS).collect();
        println!("  {cut}{}", if cut.len() < line.len() { "…" } else { "" });
    }
    if count > LINES {
        println!("  {}", styled(DIM, &format!("… {} more lines", count - LINES)));
    }
    println!();
}

/// JSON with indentation. Order and text of the values are unchanged, and short objects and lists
/// stay on one line.
fn indented(json: &str) -> String {
    let json: String = json.chars().filter(|character| !matches!(character, '\n' | '\r')).collect();
    let (mut out, mut depth, mut rest) = (String::new(), 0, json.as_str());
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        match character {
            '"' => {
                length = end_of_string(rest);
                out.push_str(&rest[..length]);
            }
            '{' | '[' => {
                let end = end_of_container(rest);
                if end <= SHORT {
                    length = end;
                    out.push_str(&rest[..end].replace("\":", "\": ").replace(",\"", ", \""));
                } else {
                    depth += 1;
                    out.push(character);
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth -= 1;
                line(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            ' ' => {}
            other => out.push(other),
        }
        rest = &rest[length..];
    }
    out
}

/// Length of the string at the start of a text, with its quotes.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        if character == '"' && !escaped {
            return index + 1;
        }
        escaped = character == '\\' && !escaped;
    }
    text.len()
}

/// Length of the object or list at the start of a text.
fn end_of_container(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(character) = text[at..].chars().next() {
        match character {
            '"' => {
                at += end_of_string(&text[at..]);
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        at += character.len_utf8();
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}
