//! A digest of all comments of a document: counts, and excerpts of the comments themselves.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use connector_sdk::{Fault, Outcome, http};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::batch::not_understood;
use crate::{SummarizeComments, comments};

/// Number of pages that the digest reads, with 100 comments in each.
const MAX_PAGES: usize = 20;

const PER_PAGE: usize = 100;

/// Length of an excerpt in characters.
const EXCERPT: usize = 200;

/// Numbers of comments and texts in the answer.
const LATEST: usize = 5;
const OPEN: usize = 20;
const QUOTED: usize = 10;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    comments: Vec<Comment>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    #[serde(default)]
    id: String,
    author: Option<Person>,
    #[serde(default)]
    content: String,
    #[serde(default)]
    created_time: String,
    #[serde(default)]
    modified_time: String,
    #[serde(default)]
    resolved: bool,
    #[serde(default)]
    deleted: bool,
    quoted_file_content: Option<Quoted>,
    #[serde(default)]
    replies: Vec<Reply>,
    #[serde(default)]
    mentioned_email_addresses: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Person {
    display_name: Option<String>,
}

#[derive(Deserialize)]
struct Quoted {
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct Reply {
    author: Option<Person>,
    #[serde(default)]
    deleted: bool,
}

#[derive(Serialize)]
struct Digest<'a> {
    document_id: &'a str,
    total: usize,
    open: usize,
    resolved: usize,
    replies: usize,
    truncated: bool,
    first_comment_at: Option<&'a str>,
    last_activity_at: Option<&'a str>,
    authors: Vec<Author>,
    latest: Vec<&'a Entry>,
    open_comments: Vec<&'a Entry>,
    quoted_texts: Vec<QuotedText>,
    mentions: Vec<Mention>,
}

/// A comment in the answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    id: String,
    author: String,
    #[serde(skip)]
    created_time: String,
    modified_time: String,
    resolved: bool,
    excerpt: String,
    quoted: Option<String>,
}

#[derive(Serialize)]
struct Author {
    name: String,
    comments: usize,
    replies: usize,
}

#[derive(Serialize)]
struct QuotedText {
    text: String,
    comments: usize,
}

#[derive(Serialize)]
struct Mention {
    email: String,
    count: usize,
}

pub(crate) fn summarize(input: SummarizeComments) -> Result<Outcome, Fault> {
    let mut summary = Summary::default();
    let mut token: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut request =
            comments::request(&input.document_id)?.query("pageSize", PER_PAGE).query("includeDeleted", false);
        if let Some(token) = &token {
            request = request.query("pageToken", token);
        }
        let text = http::send(request)?.successful()?.text()?;
        let page: Page = serde_json::from_str(&text)
            .map_err(|error| not_understood(&format!("a page of comments is unreadable: {error}")))?;
        page.comments.into_iter().filter(|comment| !comment.deleted).for_each(|comment| summary.add(comment));
        token = page.next_page_token.filter(|token| !token.is_empty());
        if token.is_none() {
            break;
        }
    }
    summary.answer(&input.document_id, token.is_some())
}

/// The comments read so far.
#[derive(Default)]
struct Summary {
    entries: Vec<Entry>,
    replies: usize,
    /// Comments and replies.
    authors: Tally<(usize, usize)>,
    quoted: Tally<usize>,
    mentions: Tally<usize>,
}

impl Summary {
    fn add(&mut self, comment: Comment) {
        let author = name(comment.author);
        self.authors.of(&author).0 += 1;
        for reply in comment.replies.into_iter().filter(|reply| !reply.deleted) {
            self.replies += 1;
            self.authors.of(&name(reply.author)).1 += 1;
        }
        let quoted =
            comment.quoted_file_content.map(|quoted| collapsed(&html_escape::decode_html_entities(&quoted.value)));
        let quoted = quoted.filter(|text| !text.is_empty());
        if let Some(text) = &quoted {
            *self.quoted.of(text) += 1;
        }
        for email in &comment.mentioned_email_addresses {
            *self.mentions.of(email) += 1;
        }
        self.entries.push(Entry {
            id: comment.id,
            author,
            created_time: comment.created_time,
            modified_time: comment.modified_time,
            resolved: comment.resolved,
            excerpt: excerpt(&collapsed(&comment.content)),
            quoted: quoted.as_deref().map(excerpt),
        });
    }

    fn answer(self, document_id: &str, truncated: bool) -> Result<Outcome, Fault> {
        let created = |entry: &&Entry| age(&entry.created_time);
        let mut latest: Vec<&Entry> = self.entries.iter().collect();
        latest.sort_by_key(|entry| Reverse(comments::parse_time(&entry.modified_time)));
        let mut open_comments: Vec<&Entry> = self.entries.iter().filter(|entry| !entry.resolved).collect();
        open_comments.sort_by_key(created);
        let open = open_comments.len();

        let authors = self.authors.0.into_iter();
        let mut authors: Vec<Author> =
            authors.map(|(name, (_, (comments, replies)))| Author { name, comments, replies }).collect();
        // Stable: authors with the same activity stay in the order of their names.
        authors.sort_by_key(|author| Reverse(author.comments + author.replies));
        let quoted = self.quoted.highest_first().take(QUOTED);
        Outcome::json(&Digest {
            document_id,
            total: self.entries.len(),
            open,
            resolved: self.entries.len() - open,
            replies: self.replies,
            truncated,
            first_comment_at: self.entries.iter().min_by_key(created).map(|entry| entry.created_time.as_str()),
            last_activity_at: latest.first().map(|entry| entry.modified_time.as_str()),
            authors,
            latest: latest.iter().copied().take(LATEST).collect(),
            open_comments: open_comments.into_iter().take(OPEN).collect(),
            quoted_texts: quoted.map(|(text, comments)| QuotedText { text: excerpt(&text), comments }).collect(),
            mentions: self.mentions.highest_first().map(|(email, count)| Mention { email, count }).collect(),
        })
    }
}

/// Numbers by name, each with the position of the name's first occurrence.
struct Tally<T>(BTreeMap<String, (usize, T)>);

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Default> Tally<T> {
    fn of(&mut self, name: &str) -> &mut T {
        let position = self.0.len();
        let (_, number) = self.0.entry(name.to_owned()).or_insert_with(|| (position, T::default()));
        number
    }
}

impl Tally<usize> {
    /// Names and numbers, the highest number first, then by position.
    fn highest_first(self) -> impl Iterator<Item = (String, usize)> {
        let mut found: Vec<(String, (usize, usize))> = self.0.into_iter().collect();
        found.sort_by_key(|(_, (position, number))| (Reverse(*number), *position));
        found.into_iter().map(|(name, (_, number))| (name, number))
    }
}

/// The name of a person. Google gives no name of a deleted account.
fn name(author: Option<Person>) -> String {
    let name = author.and_then(|author| author.display_name).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "unknown".to_owned())
}

/// A sort key: texts that are not a time come after all times.
fn age(time: &str) -> (bool, Option<OffsetDateTime>) {
    let time = comments::parse_time(time);
    (time.is_none(), time)
}

/// The text with one blank in place of each white space.
fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a collapsed text, cut between two words if it is too long. A single word that
/// is too long is cut inside.
fn excerpt(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(EXCERPT) else { return text.to_owned() };
    let (start, rest) = text.split_at(end);
    let end = if rest.starts_with(' ') { end } else { start.rfind(' ').unwrap_or(end) };
    text.get(..end).unwrap_or_default().to_owned()
}
