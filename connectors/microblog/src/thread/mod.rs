//! All posts of a conversation: a look-up of the given post, a look-up of the first post, and a
//! search for the others.
//!
//! # Layout
//! - here: the requests.
//! - `answer`: the answer, made from the responses.

mod answer;

use connector_sdk::{Document, Fault, Outcome, Request, http};

use self::answer::{Responses, Spelling};
use crate::request::look_up;
use crate::{GetThread, settings, times};

/// Maximum number of pages of the search.
const MAX_PAGES: usize = 10;

/// Maximum number of posts on a page that X allows.
const PAGE_POSTS: u32 = 100;

/// A response after the first one. X may refuse it for its rate limit. Then the answer has the
/// posts read so far.
enum Later {
    Answered(Document),
    /// The time of the next attempt, if X gives it.
    Limited(Option<String>),
}

/// Returns the conversation of a post.
///
/// # Errors
/// [`Fault::NotFound`] if X does not have the post, and X's own refusals. A rate limit is a refusal
/// of the first request only.
pub(crate) fn conversation(input: GetThread) -> Result<Outcome, Fault> {
    let spelling = Spelling::of(&settings::post_fields()?);
    let asked = look_up(post(&input.id, &spelling)?, &format!("post `{}`", input.id))?;
    let id = asked.string("/data/id").unwrap_or(input.id);
    let conversation = asked.string("/data/conversation_id").unwrap_or_else(|| id.clone());
    let mut responses = Responses { texts: vec![asked.text()], ..Responses::default() };
    if conversation != id {
        responses.take(first_post(&conversation, &spelling)?);
    }

    let mut next = None;
    while responses.limited.is_none() && responses.pages < MAX_PAGES {
        let page = later(page(&conversation, next.as_deref(), &spelling))?;
        if let Later::Answered(page) = &page {
            next = page.string("/meta/next_token").filter(|token| !token.is_empty());
            responses.pages += 1;
        }
        responses.take(Some(page));
        if next.is_none() {
            break;
        }
    }
    responses.truncated = responses.limited.is_some() || next.is_some();
    responses.answer(&id, &conversation, &spelling)
}

/// The look-up of the first post. `None` if X does not have it, for example because its author
/// deleted it.
fn first_post(id: &str, spelling: &Spelling) -> Result<Option<Later>, Fault> {
    match later(post(id, spelling)?) {
        Ok(later) => Ok(Some(later)),
        Err(Fault::Upstream(fault)) if fault.status == 404 => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn later(request: Request) -> Result<Later, Fault> {
    let response = http::send(request)?;
    if response.status() == 429 {
        return Ok(Later::Limited(times::retry_at(&response)));
    }
    Ok(Later::Answered(response.successful()?.document()?))
}

fn post(id: &str, spelling: &Spelling) -> Result<Request, Fault> {
    Ok(selected(Request::get("api", "/tweets").segment("id", id)?, spelling))
}

fn page(conversation: &str, token: Option<&str>, spelling: &Spelling) -> Request {
    let request = Request::get("api", "/tweets/search/recent")
        .query("query", format!("conversation_id:{conversation}"))
        .query("max_results", PAGE_POSTS);
    let request = selected(request, spelling);
    match token {
        Some(token) => request.query("next_token", token),
        None => request,
    }
}

/// Adds the members of posts that a thread needs.
fn selected(request: Request, spelling: &Spelling) -> Request {
    request
        .query(spelling.post_fields, "conversation_id,created_at,text,public_metrics,entities,lang")
        .query("expansions", spelling.expansions)
        .query("media.fields", "type,url,preview_image_url,alt_text")
}

impl Responses {
    fn take(&mut self, response: Option<Later>) {
        match response {
            Some(Later::Answered(answer)) => self.texts.push(answer.text()),
            Some(Later::Limited(retry_at)) => self.limited = Some(retry_at),
            None => {}
        }
    }
}
