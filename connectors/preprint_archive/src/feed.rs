//! Reads papers from an Atom feed (RFC 4287) with arXiv's extensions. Elements are recognized by
//! namespace and name, in any order. Unknown elements are skipped.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::{Namespace, ResolveResult};
use quick_xml::reader::NsReader;

use crate::paper::{Author, Category, Paper, split_version};

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ARXIV: &str = "http://arxiv.org/schemas/atom";
const OPENSEARCH: &str = "http://a9.com/-/spec/opensearch/1.1/";

/// A page of results.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    pub(crate) total_results: u64,
    pub(crate) start: u64,
    pub(crate) items_per_page: u64,
    pub(crate) updated: Option<String>,
    pub(crate) papers: Vec<Paper>,
    /// arXiv reports an error as an entry. This is the entry's text.
    pub(crate) error: Option<String>,
}

/// The text is not an Atom feed, or it breaks off.
#[derive(Debug)]
pub(crate) struct NoFeed;

/// Reads a feed.
///
/// # Errors
/// [`NoFeed`] if the text is not an Atom feed or is incomplete.
pub(crate) fn parse(xml: &str) -> Result<Feed, NoFeed> {
    let mut reader = NsReader::from_str(xml);
    reader.config_mut().expand_empty_elements = true;
    let mut state = State::default();
    loop {
        let (namespace, event) = reader.read_resolved_event().map_err(|_| NoFeed)?;
        match event {
            Event::Start(start) => {
                let name = known(&namespace, start.local_name().as_ref());
                state.start(name, &start)?;
            }
            Event::End(_) => state.end(),
            Event::Text(text) => state.text.push_str(&text),
            Event::CData(data) => state.text.push_str(&data),
            Event::GeneralRef(reference) => state.reference(&reference),
            Event::Eof if state.is_complete && state.open.is_empty() => return Ok(state.feed),
            Event::Eof => return Err(NoFeed),
            _ => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    Feed,
    Entry,
    Author,
    AuthorName,
    Affiliation,
    Id,
    Title,
    Summary,
    Published,
    Updated,
    Link,
    Category,
    PrimaryCategory,
    Comment,
    JournalRef,
    Doi,
    TotalResults,
    StartIndex,
    ItemsPerPage,
    Unknown,
}

fn known(namespace: &ResolveResult<'_>, local: &str) -> Element {
    let ResolveResult::Bound(Namespace(namespace)) = namespace else { return Element::Unknown };
    match (*namespace, local) {
        (ATOM, "feed") => Element::Feed,
        (ATOM, "entry") => Element::Entry,
        (ATOM, "author") => Element::Author,
        (ATOM, "name") => Element::AuthorName,
        (ATOM, "id") => Element::Id,
        (ATOM, "title") => Element::Title,
        (ATOM, "summary") => Element::Summary,
        (ATOM, "published") => Element::Published,
        (ATOM, "updated") => Element::Updated,
        (ATOM, "link") => Element::Link,
        (ATOM, "category") => Element::Category,
        (ARXIV, "affiliation") => Element::Affiliation,
        (ARXIV, "primary_category") => Element::PrimaryCategory,
        (ARXIV, "comment") => Element::Comment,
        (ARXIV, "journal_ref") => Element::JournalRef,
        (ARXIV, "doi") => Element::Doi,
        (OPENSEARCH, "totalResults") => Element::TotalResults,
        (OPENSEARCH, "startIndex") => Element::StartIndex,
        (OPENSEARCH, "itemsPerPage") => Element::ItemsPerPage,
        _ => Element::Unknown,
    }
}

#[derive(Default)]
struct State {
    feed: Feed,
    open: Vec<Element>,
    /// The text since the last start tag.
    text: String,
    paper: Paper,
    author: Author,
    is_complete: bool,
}

impl State {
    fn start(&mut self, name: Element, element: &BytesStart<'_>) -> Result<(), NoFeed> {
        if self.open.is_empty() && name != Element::Feed {
            return Err(NoFeed);
        }
        self.text.clear();
        match name {
            Element::Entry => self.paper = Paper::default(),
            Element::Author => self.author = Author::default(),
            Element::Link if self.in_entry() => self.link(element),
            Element::Category if self.in_entry() => {
                let term = attribute(element, "term").unwrap_or_default();
                self.paper.categories.push(Category { term, scheme: attribute(element, "scheme") });
            }
            Element::PrimaryCategory if self.in_entry() => self.paper.primary_category = attribute(element, "term"),
            _ => {}
        }
        self.open.push(name);
        Ok(())
    }

    fn end(&mut self) {
        let Some(name) = self.open.pop() else { return };
        match name {
            Element::Feed => self.is_complete = true,
            Element::Entry => self.finish_entry(),
            Element::Author if self.in_entry() => self.paper.authors.push(std::mem::take(&mut self.author)),
            _ => self.leaf(name),
        }
    }

    /// Takes the text of an element that contains no other elements.
    fn leaf(&mut self, name: Element) {
        let text = self.text.trim();
        match (self.open.last(), name) {
            (Some(Element::Feed), Element::TotalResults) => self.feed.total_results = text.parse().unwrap_or_default(),
            (Some(Element::Feed), Element::StartIndex) => self.feed.start = text.parse().unwrap_or_default(),
            (Some(Element::Feed), Element::ItemsPerPage) => self.feed.items_per_page = text.parse().unwrap_or_default(),
            (Some(Element::Feed), Element::Updated) => self.feed.updated = Some(text.to_owned()),
            (Some(Element::Author), Element::AuthorName) => self.author.name = collapsed(text),
            (Some(Element::Author), Element::Affiliation) => {
                let affiliation = self.author.affiliation.get_or_insert_default();
                if !affiliation.is_empty() {
                    affiliation.push_str("; ");
                }
                affiliation.push_str(&collapsed(text));
            }
            (Some(Element::Entry), Element::Id) => self.paper.id = text.to_owned(),
            (Some(Element::Entry), Element::Title) => self.paper.title = collapsed(text),
            (Some(Element::Entry), Element::Summary) => self.paper.summary = collapsed(text),
            (Some(Element::Entry), Element::Published) => self.paper.published = text.to_owned(),
            (Some(Element::Entry), Element::Updated) => self.paper.updated = text.to_owned(),
            (Some(Element::Entry), Element::Comment) => self.paper.comment = Some(collapsed(text)),
            (Some(Element::Entry), Element::JournalRef) => self.paper.journal_ref = Some(collapsed(text)),
            (Some(Element::Entry), Element::Doi) => self.paper.doi = Some(text.to_owned()),
            _ => {}
        }
    }

    fn finish_entry(&mut self) {
        let mut paper = std::mem::take(&mut self.paper);
        if paper.id.contains("/api/errors") {
            self.feed.error.get_or_insert(paper.summary);
            return;
        }
        if let Some((_, id)) = paper.id.split_once("/abs/") {
            paper.id = id.to_owned();
        }
        let (base, version) = split_version(&paper.id);
        paper.base_id = base.to_owned();
        paper.version = version;
        self.feed.papers.push(paper);
    }

    fn link(&mut self, element: &BytesStart<'_>) {
        let Some(address) = attribute(element, "href") else { return };
        let address = match address.strip_prefix("http://") {
            Some(rest) => format!("https://{rest}"),
            None => address,
        };
        let links = &mut self.paper.links;
        match (attribute(element, "title").as_deref(), attribute(element, "rel").as_deref()) {
            (Some("pdf"), _) => links.pdf = Some(address),
            (Some("doi"), _) => links.doi = Some(address),
            // A link without `rel` has the relation `alternate` (RFC 4287, section 4.2.7.2).
            (_, Some("alternate") | None) => links.abstract_page = Some(address),
            _ => {}
        }
    }

    fn in_entry(&self) -> bool {
        self.open.last() == Some(&Element::Entry)
    }

    /// Resolves character references and the entities of XML. Any other entity stays as text.
    fn reference(&mut self, reference: &BytesRef<'_>) {
        let character = match reference.resolve_char_ref() {
            Ok(Some(character)) => Some(character),
            _ => match &**reference {
                "amp" => Some('&'),
                "lt" => Some('<'),
                "gt" => Some('>'),
                "quot" => Some('"'),
                "apos" => Some('\''),
                _ => None,
            },
        };
        match character {
            Some(character) => self.text.push(character),
            None => self.text.extend(["&", &**reference, ";"]),
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.attributes().flatten().find(|attribute| attribute.key.as_ref() == name)?;
    let value = found.normalized_value(XmlVersion::Implicit1_0);
    Some(value.map_or_else(|_| found.value.to_string(), |value| value.into_owned()))
}

/// Replaces each run of white space by one space, and removes it at both ends.
fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
