//! One call of the service's API.

use connector_sdk::{Fault, Request, config, http};

use crate::feed::{self, Feed};

/// The service asks its users to say who they are; the operator's `contact` does.
pub(crate) fn introduced(request: Request) -> Result<Request, Fault> {
    Ok(match config::get::<String>("contact")? {
        Some(contact) => request.header(
            "User-Agent",
            format!("connector-gateway {}/{} ({contact})", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        ),
        None => request,
    })
}

/// A feed; an error that the service reports in it is the caller's, at `pointer` of the input.
pub(crate) fn query(request: Request, pointer: &str) -> Result<Feed, Fault> {
    let response = http::send(introduced(request)?)?;
    let refused = response.status() == 400;
    let response = if refused { response } else { response.successful()? };
    // The text may be several megabytes; it is dropped before an answer is written.
    let feed = feed::parse(&response.text()?);
    match feed {
        Ok(Feed { error: Some(text), .. }) => Err(Fault::invalid_input(pointer, format!("arXiv says: {text}."))),
        _ if refused => {
            Err(Fault::invalid_input(pointer, "arXiv does not understand this; give its query syntax or plain words."))
        }
        Ok(feed) => Ok(feed),
        Err(feed::NoFeed) => {
            Err(Fault::upstream(502, "arXiv answered with something that is no Atom feed; try again later."))
        }
    }
}
