//! Requests to arXiv.

use connector_sdk::retry::{Backoff, retry};
use connector_sdk::{Fault, Request, http};

use crate::feed::{self, Feed};
use crate::settings;

/// Adds the operator's `contact` to the request, because arXiv asks its users to say who they are.
pub(crate) fn introduced(request: Request) -> Result<Request, Fault> {
    Ok(match settings::contact()? {
        Some(contact) => request.header(
            "User-Agent",
            format!("connector-gateway {}/{} ({contact})", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        ),
        None => request,
    })
}

/// arXiv sends some pages without results although its list has more. A page often comes whole a
/// moment later.
const EMPTY_PAGE: Backoff = Backoff { attempts: 3, ..Backoff::STANDARD };

/// Sends a request for the page of a list that begins at `start`. A page without results is not
/// taken for the end of the list, if arXiv says that there are more.
///
/// # Errors
/// As [`query`]. [`Fault::Upstream`] if the page stays empty.
pub(crate) fn page(request: impl Fn() -> Request, start: u64, pointer: &str) -> Result<Feed, Fault> {
    retry(EMPTY_PAGE, || match query(request(), pointer) {
        Ok(feed) if feed.papers.is_empty() && start < feed.total_results => Err(Fault::upstream(
            502,
            format!(
                "arXiv says that it has {} results, and sent none of them after position {start}; try again later with \
                 `start` {start}.",
                feed.total_results
            ),
        )),
        // Other faults are not for this function to repeat.
        other => Ok(other),
    })?
}

/// Sends a request whose response is a feed.
///
/// # Errors
/// [`Fault::InvalidInput`] at `pointer` if the feed reports an error, and [`Fault::Upstream`] if
/// the response is not a feed.
pub(crate) fn query(request: Request, pointer: &str) -> Result<Feed, Fault> {
    let response = http::send(introduced(request)?)?;
    let refused = response.status() == 400;
    let response = if refused { response } else { response.successful()? };
    // The text can have several megabytes, so it is dropped before the answer is written.
    let feed = feed::parse(&response.text()?);
    match feed {
        Ok(Feed { error: Some(text), .. }) => Err(Fault::invalid_input(pointer, format!("arXiv says: {text}."))),
        _ if refused => Err(Fault::invalid_input(
            pointer,
            "arXiv does not understand this input; give its query syntax or plain words.",
        )),
        Ok(feed) => Ok(feed),
        Err(feed::NoFeed) => {
            Err(Fault::upstream(502, "arXiv answered with a text that is not an Atom feed; try again later."))
        }
    }
}
