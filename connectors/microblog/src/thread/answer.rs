//! The answer of `get_thread`, made from the responses to its requests. Posts and other objects
//! stay as X wrote them.

use std::collections::HashSet;

use connector_sdk::input::FromJson;
use connector_sdk::{Fault, Outcome, json};
use serde::Serialize;

/// Number of days that X's search reaches back.
const SEARCHED_DAYS: u32 = 7;

/// X's names that depend on the setting `post_fields`.
pub(super) struct Spelling {
    pub(super) post_fields: &'static str,
    pub(super) expansions: &'static str,
    /// Posts in `includes`.
    posts: &'static str,
}

/// X's names of posts in `includes`, and of a post's references to other posts. Each has an older
/// one.
const POSTS: [&str; 2] = ["posts", "tweets"];
const REFERENCES: [&str; 2] = ["referenced_posts", "referenced_tweets"];

impl Spelling {
    pub(super) fn of(post_fields: &str) -> Self {
        if post_fields == "tweet.fields" {
            Self {
                post_fields: "tweet.fields",
                expansions: "author_id,in_reply_to_user_id,referenced_tweets.id,attachments.media_keys",
                posts: "tweets",
            }
        } else {
            Self {
                post_fields: "post.fields",
                expansions: "author_id,in_reply_to_user_id,referenced_posts,attachments.media_keys",
                posts: "posts",
            }
        }
    }
}

/// The responses to the requests of one call.
#[derive(Default)]
pub(super) struct Responses {
    /// The responses in the order of the requests, as JSON text.
    pub(super) texts: Vec<String>,
    /// Number of pages of the search.
    pub(super) pages: usize,
    /// There are more posts than were read.
    pub(super) truncated: bool,
    /// X's rate limit ended the call. Holds the time of the next attempt, if X gave it.
    pub(super) limited: Option<Option<String>>,
}

#[derive(Serialize)]
struct Meta<'a> {
    conversation_id: &'a str,
    result_count: usize,
    pages: usize,
    truncated: bool,
    searched_days: u32,
    missing: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<&'a Option<String>>,
}

/// A post of the conversation.
struct Post<'a> {
    id: String,
    text: &'a str,
    /// Ids of the posts that it replies to, quotes or repeats.
    references: Vec<String>,
}

/// One kind of objects in `includes`, each object once.
struct Included<'a> {
    kind: String,
    keys: HashSet<String>,
    objects: Vec<&'a str>,
}

impl Responses {
    pub(super) fn answer(&self, asked: &str, conversation: &str, spelling: &Spelling) -> Result<Outcome, Fault> {
        let mut posts: Vec<Post<'_>> = Vec::new();
        let mut includes: Vec<Included<'_>> = ["users", spelling.posts, "media"].map(Included::new).into();
        let mut errors: Vec<&str> = Vec::new();
        for text in &self.texts {
            for (name, value) in json::members(text).unwrap_or_default() {
                match name.as_ref() {
                    // A look-up has one post, and a page of the search has a list of posts.
                    "data" => {
                        let found = json::items(value).unwrap_or_else(|| vec![value]);
                        posts.extend(found.into_iter().filter_map(Post::read));
                    }
                    "includes" => merge(&mut includes, value),
                    "errors" => errors.extend(json::items(value).unwrap_or_default()),
                    _ => {}
                }
            }
        }
        posts.sort_by(|left, right| order(left, conversation).cmp(&order(right, conversation)));
        posts.dedup_by(|right, left| right.id == left.id);

        let meta = Meta {
            conversation_id: conversation,
            result_count: posts.len(),
            pages: self.pages,
            truncated: self.truncated,
            searched_days: SEARCHED_DAYS,
            missing: missing([asked, conversation], &posts, &includes),
            retry_at: self.limited.as_ref(),
        };
        // Allocated once: a large answer that grows step by step would need twice the memory of the
        // responses in addition.
        let mut json = String::with_capacity(self.texts.iter().map(String::len).sum::<usize>() + 1024);
        json.push_str("{\"data\":");
        push_list(&mut json, posts.iter().map(|post| post.text));
        json.push_str(",\"includes\":{");
        for kind in &includes {
            if !json.ends_with('{') {
                json.push(',');
            }
            json.push_str(&written(&kind.kind)?);
            json.push(':');
            push_list(&mut json, kind.objects.iter().copied());
        }
        json.push_str("},\"meta\":");
        json.push_str(&written(&meta)?);
        json.push_str(",\"errors\":");
        push_list(&mut json, errors.into_iter());
        json.push('}');
        Ok(Outcome::Reply(json))
    }
}

/// A value as JSON text.
fn written(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::Failed(error.to_string()))
}

/// Appends a list of values that are JSON text.
fn push_list<'a>(json: &mut String, values: impl Iterator<Item = &'a str>) {
    json.push('[');
    for value in values {
        if !json.ends_with('[') {
            json.push(',');
        }
        json.push_str(value);
    }
    json.push(']');
}

/// The first post of the conversation, then the others by rising id.
fn order<'a>(post: &'a Post<'_>, conversation: &str) -> (bool, (usize, &'a str)) {
    (post.id != conversation, as_number(&post.id))
}

/// Ids have no leading zeros, so a longer one is a larger number.
fn as_number(id: &str) -> (usize, &str) {
    (id.len(), id)
}

/// Ids that the call or a post names, and that no response has.
fn missing(named: [&str; 2], posts: &[Post<'_>], includes: &[Included<'_>]) -> Vec<String> {
    let given: HashSet<&str> = posts.iter().map(|post| post.id.as_str()).collect();
    let included = || includes.iter().filter(|kind| POSTS.contains(&kind.kind.as_str()));
    let is_given = |id: &str| given.contains(id) || included().any(|kind| kind.keys.contains(id));
    let references = posts.iter().flat_map(|post| post.references.iter().map(String::as_str));
    let mut missing: Vec<&str> = named.into_iter().chain(references).filter(|id| !is_given(id)).collect();
    missing.sort_by_key(|id| as_number(id));
    missing.dedup();
    missing.into_iter().map(str::to_owned).collect()
}

impl<'a> Post<'a> {
    /// `None` if the text is not an object with an id.
    fn read(text: &'a str) -> Option<Self> {
        let mut post = Self { id: String::new(), text, references: Vec::new() };
        for (name, value) in json::members(text)? {
            if name == "id" {
                post.id = String::from_json(value)?;
            } else if REFERENCES.contains(&name.as_ref()) {
                let references = json::items(value).unwrap_or_default().into_iter();
                post.references = references.filter_map(|item| key(item, &["id"])).collect();
            }
        }
        (!post.id.is_empty()).then_some(post)
    }
}

impl Included<'_> {
    fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), keys: HashSet::new(), objects: Vec::new() }
    }
}

/// Adds the objects of a response that earlier responses did not have.
fn merge<'a>(includes: &mut Vec<Included<'a>>, text: &'a str) {
    for (kind, objects) in json::members(text).unwrap_or_default() {
        let index = includes.iter().position(|known| known.kind == kind).unwrap_or(includes.len());
        if index == includes.len() {
            includes.push(Included::new(&kind));
        }
        let Some(included) = includes.get_mut(index) else { continue };
        for object in json::items(objects).unwrap_or_default() {
            if key(object, &["id", "media_key"]).is_none_or(|key| included.keys.insert(key)) {
                included.objects.push(object);
            }
        }
    }
}

/// The first of these members that an object has, if it is a string.
fn key(object: &str, names: &[&str]) -> Option<String> {
    let members = json::members(object)?;
    let (_, value) = members.iter().find(|(name, _)| names.contains(&name.as_ref()))?;
    String::from_json(value)
}
