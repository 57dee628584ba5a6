//! The header `Link` (RFC 8288), as far as a connector needs it: the address of the next page.

/// The header, as `next-link.pointer` of a manifest names it.
pub const HEADER: &str = "Link";

/// The relation of the link that `header-link("link")` gives.
const NEXT: &str = "next";

/// The address of the link with the relation `next` in values of the header `Link`. `None` if they
/// have no such link. A link whose `anchor` names another document is left out.
///
/// A part that is not a link ends the reading of its value, and the links before it count.
pub fn next_of<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    values.into_iter().find_map(next_in)
}

fn next_in(value: &str) -> Option<&str> {
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (address, parameters) = rest.strip_prefix('<')?.split_once('>')?;
        let mut link = Parameters { rest: parameters, relation: None, has_anchor: false };
        link.read();
        rest = link.rest;
        let relations = link.relation.as_deref().unwrap_or_default();
        if !link.has_anchor && relations.split([' ', '\t']).any(|relation| relation.eq_ignore_ascii_case(NEXT)) {
            return Some(address.trim_matches([' ', '\t']));
        }
    }
}

/// The parameters of one link, up to the comma that ends it.
struct Parameters<'a> {
    rest: &'a str,
    /// The value of the first `rel`. Further ones have no effect.
    relation: Option<String>,
    has_anchor: bool,
}

impl<'a> Parameters<'a> {
    fn read(&mut self) {
        while let Some(rest) = self.after_blanks().strip_prefix(';') {
            self.rest = rest;
            self.after_blanks();
            let name = self.take_until(" \t;,=");
            let value = match self.after_blanks().strip_prefix('=') {
                Some(rest) => {
                    self.rest = rest;
                    self.value()
                }
                None => String::new(),
            };
            if name.eq_ignore_ascii_case("rel") {
                self.relation.get_or_insert(value);
            } else if name.eq_ignore_ascii_case("anchor") {
                self.has_anchor = true;
            }
        }
    }

    /// Skips blanks, and returns what follows.
    fn after_blanks(&mut self) -> &'a str {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        self.rest
    }

    /// Takes the text before the first of these characters.
    fn take_until(&mut self, ends: &str) -> &'a str {
        let end = self.rest.find(|character: char| ends.contains(character)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Takes a token, or a text in quotes without them.
    fn value(&mut self) -> String {
        let Some(quoted) = self.after_blanks().strip_prefix('"') else {
            return self.take_until(" \t;,").to_owned();
        };
        let mut value = String::new();
        let mut characters = quoted.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => break,
                '\\' => value.extend(characters.next()),
                character => value.push(character),
            }
        }
        self.rest = characters.as_str();
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A link as RFC 8288 allows it, with and without the relation `next`.
    fn link() -> impl Strategy<Value = (String, bool, String)> {
        let address = "[!-;=?-~]{0,12}";
        let relations = prop::collection::vec("[a-z]{1,6}|next|Next", 1..4);
        (address, relations, "[ -~]{0,12}", any::<bool>()).prop_map(|(address, relations, title, is_first)| {
            let is_next = relations.iter().any(|relation| relation.eq_ignore_ascii_case("next"));
            let title = format!("title=\"{}\"", title.replace('\\', r"\\").replace('"', "\\\""));
            let relation = format!("rel=\"{}\"", relations.join(" "));
            let (one, other) = if is_first { (relation, title) } else { (title, relation) };
            let text = format!("<{address}>; {one} ;{other}");
            (address, is_next, text)
        })
    }

    proptest! {
        #[test]
        fn the_first_link_to_a_next_page_is_found(links in prop::collection::vec(link(), 0..5)) {
            let text = links.iter().map(|(_, _, text)| text.as_str()).collect::<Vec<_>>().join(" , ");
            let expected = links.iter().find(|(_, is_next, _)| *is_next).map(|(address, ..)| address.as_str());
            prop_assert_eq!(next_of([text.as_str()]), expected);
        }

        #[test]
        fn any_text_is_read_to_its_end(text in ".*", links in "[<>;,=\"\\\\ a-c]*") {
            next_of([text.as_str(), links.as_str()]);
        }
    }

    #[test]
    fn the_next_page_is_found_in_every_form_of_the_header() {
        let cases: [(&[&str], Option<&str>); 18] = [
            (&[], None),
            (&[""], None),
            (&["/a"], None),
            (
                &[r#"<https://a.example/?page=2>; rel="next", <https://a.example/?page=9>; rel="last""#],
                Some("https://a.example/?page=2"),
            ),
            (
                &[r#"<https://a.example/?page=1>; rel="prev", <https://a.example/?page=3>; rel="next""#],
                Some("https://a.example/?page=3"),
            ),
            (&["</a>; rel=prev", "</b>; rel=next"], Some("/b")),
            (&["</a?x=1,2;3>; rel=next"], Some("/a?x=1,2;3")),
            (&[r#"</a>; title="one, two; rel=next \" <"; rel="prev", </b> ; REL = "Last NEXT""#], Some("/b")),
            (&["</a>; rel=prev; rel=next"], None),
            (&[r#"</a>; rel="nextpage", </b>; rel="start next""#], Some("/b")),
            (&[r#"</a>; rel=next; anchor="/other", </b>; rel=next"#], Some("/b")),
            (&["</a>; crossorigin; rel=next"], Some("/a")),
            (&[" , ,</a>;rel=next"], Some("/a")),
            (&["<>; rel=next"], Some("")),
            (&["</a; rel=next"], None),
            (&[r#"</a>; rel="next"#], Some("/a")),
            (&[r#"</a>; title*=UTF-8''x; rel="x", nonsense, </b>; rel=next"#], None),
            (&["/a; rel=next", "https://a.example"], None),
        ];
        for (values, next) in cases {
            assert_eq!(next_of(values.iter().copied()), next, "{values:?}");
        }
    }
}
