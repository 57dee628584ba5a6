//! Requests to arXiv.

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
