//! HTML of a message's body.

use html_escape::decode_html_entities;

/// A body with one of these tags is HTML.
const TAGS: [&str; 24] = [
    "html",
    "body",
    "p",
    "div",
    "span",
    "br",
    "table",
    "ul",
    "ol",
    "li",
    "a",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "b",
    "i",
    "strong",
    "em",
    "img",
    "blockquote",
    "pre",
];

/// Elements whose content is not shown.
const HIDDEN: [&str; 5] = ["head", "title", "style", "script", "template"];

/// Returns `true` if the text has a tag that messages in HTML have.
pub(crate) fn is_html(text: &str) -> bool {
    let last_end = text.rfind('>').unwrap_or(0);
    let starts = text.match_indices('<').map(|(start, _)| start).take_while(|start| *start < last_end);
    starts.filter_map(|start| tag_name(text.get(start + 1..)?)).any(|(_, name)| TAGS.contains(&name.as_str()))
}

/// The text of HTML without its tags. Blocks begin on a new line, and a paragraph has an empty line
/// before it.
pub(crate) fn text(html: &str) -> String {
    let mut text = Text { written: String::with_capacity(html.len()), is_preformatted: false };
    // A shorter rest has no end of a tag, so that no tag in it is looked for.
    let shortest = html.len() - html.rfind('>').unwrap_or(0);
    let mut rest = html;
    let mut has_quotes = true;
    while let Some((before, markup)) = rest.split_once('<') {
        text.push(before);
        if let Some(comment) = markup.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
        } else if markup.starts_with(['!', '?']) {
            rest = markup.split_once('>').map_or("", |(_, after)| after);
        } else if markup.len() >= shortest
            && let Some((is_end, name)) = tag_name(markup)
            && let Some(after) = after_tag(markup, &mut has_quotes)
        {
            rest = after;
            if HIDDEN.contains(&name.as_str()) && !is_end {
                rest = after_element(after, &name);
            }
            text.tag(&name, is_end);
        } else {
            text.push("<");
            rest = markup;
        }
    }
    text.push(rest);
    text.written.trim().to_owned()
}

/// The name of a tag in lower case, and `true` if it is an end tag. `markup` is the text after a
/// `<`.
fn tag_name(markup: &str) -> Option<(bool, String)> {
    let (is_end, inner) = markup.strip_prefix('/').map_or((false, markup), |inner| (true, inner));
    let length = inner.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let (name, after) = inner.split_at(length);
    let ends = after.starts_with(['>', '/']) || after.starts_with(|next: char| next.is_ascii_whitespace());
    (name.starts_with(|first: char| first.is_ascii_alphabetic()) && ends).then(|| (is_end, name.to_ascii_lowercase()))
}

/// The text after a tag. A `>` in the quotes of an attribute does not end the tag. If quotes are
/// left open, they count as any other character from then on, so that the text is read in linear
/// time.
fn after_tag<'a>(tag: &'a str, has_quotes: &mut bool) -> Option<&'a str> {
    if *has_quotes {
        let mut quote = None;
        for (at, byte) in tag.bytes().enumerate() {
            match (byte, quote) {
                (b'>', None) => return tag.get(at + 1..),
                (b'"' | b'\'', None) => quote = Some(byte),
                (_, Some(open)) if byte == open => quote = None,
                _ => {}
            }
        }
        *has_quotes = false;
    }
    tag.split_once('>').map(|(_, after)| after)
}

/// The text after the end tag of an element. Empty if the element does not end.
fn after_element<'a>(content: &'a str, name: &str) -> &'a str {
    let ends = content.match_indices("</").filter_map(|(at, _)| content.get(at + 1..));
    let mut ends = ends.filter(|end| tag_name(end).is_some_and(|(_, found)| found == name));
    ends.next().and_then(|end| end.split_once('>')).map_or("", |(_, after)| after)
}

/// The text as far as it is written.
struct Text {
    written: String,
    is_preformatted: bool,
}

impl Text {
    /// Appends text between two tags. Blanks and line breaks become one blank, as a browser shows
    /// them.
    fn push(&mut self, text: &str) {
        for character in decode_html_entities(text).chars() {
            if self.is_preformatted || !character.is_ascii_whitespace() {
                self.written.push(character);
            } else if !self.written.is_empty() && !self.written.ends_with([' ', '\n']) {
                self.written.push(' ');
            }
        }
    }

    fn tag(&mut self, name: &str, is_end: bool) {
        match name {
            "br" => self.written.push('\n'),
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "table" | "blockquote" | "pre" => {
                self.break_lines(2);
                if name == "pre" {
                    self.is_preformatted = !is_end;
                }
            }
            "div" | "li" | "tr" | "hr" | "section" | "article" | "header" | "footer" | "dt" | "dd" | "body" => {
                self.break_lines(1);
            }
            "td" | "th" => self.push(" "),
            _ => {}
        }
    }

    /// Ends the line, and adds empty lines, so that the text ends with `count` line breaks.
    fn break_lines(&mut self, count: usize) {
        self.written.truncate(self.written.trim_end_matches(' ').len());
        let found = self.written.bytes().rev().take_while(|byte| *byte == b'\n').count();
        if !self.written.is_empty() {
            self.written.extend(std::iter::repeat_n('\n', count.saturating_sub(found)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_html, text};

    #[test]
    fn a_body_with_a_tag_of_html_is_html() {
        for html in ["<p>x</p>", "a<BR>b", "a<br/>b", "<a href=\"x\">y", "</div>", "x < y <b\n>z</b>"] {
            assert!(is_html(html), "{html}");
        }
        for plain in
            ["", "a < b > c", "Kim <kim@example.com>", "<a@example.com>", "<x>", "<p", "if a <b", "<pp>", "1 <3"]
        {
            assert!(!is_html(plain), "{plain}");
        }
    }

    #[test]
    fn text_has_no_tags() {
        for (html, expected) in [
            ("<p>See the attachment.</p>", "See the attachment."),
            ("<p>One\n  two</p><p>Three</p>", "One two\n\nThree"),
            ("a<br>b<br/>c", "a\nb\nc"),
            ("<ul><li>one</li><li>two</li></ul>end", "one\ntwo\n\nend"),
            ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
            ("<b>Tom &amp; Jerry</b>&nbsp;&lt;3 &#x1F600;", "Tom & Jerry\u{a0}<3 \u{1F600}"),
            ("<html><head><title>t</title><style>p > b {}</style></head><body>x</body></html>", "x"),
            ("a<!-- <p>hidden</p> -->b<script>if (1 < 2) {}</SCRIPT >c", "abc"),
            ("<!DOCTYPE html><div>x</div>", "x"),
            ("<a title=\"a>b\" href='x'>link</a>", "link"),
            ("<pre>a\n  b</pre>c", "a\n  b\n\nc"),
            ("1 < 2 <b>and 3 > 2</b> <kim@example.com>", "1 < 2 and 3 > 2 <kim@example.com>"),
            ("<p title=\"open>x</p><p>y</p>", "x\n\ny"),
            ("<script>never ends", ""),
            ("a <b", "a <b"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn many_open_quotes_are_read_once() {
        let html = "<p \">".repeat(100_001);
        assert!(text(&html).is_empty());
    }

    #[test]
    fn many_tags_without_an_end_are_read_once() {
        let html = format!("<p>x</p>{}", "<p ".repeat(1_000_000));
        assert!(text(&html).starts_with("x\n\n<p <p "));
    }
}
