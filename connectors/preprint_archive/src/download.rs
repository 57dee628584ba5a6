//! The PDF of a paper. The gateway streams it to the caller.

use connector_sdk::http::Error;
use connector_sdk::{Content, Fault, File, Outcome, Request, Response, http};

use crate::paper::parse_id;
use crate::{DownloadPaper, service, settings};

/// Number of bytes at the beginning of a page that contain its title.
const TITLE_BYTES: u32 = 4096;

/// Words in the title of arXiv's page, in lower case, if a paper has no PDF. There are several,
/// because arXiv has changed the page.
const NO_PDF: [&str; 5] = ["no file for", "file unavailable", "pdf unavailable", "no pdf", "withdrawn"];

pub(crate) fn pdf(input: DownloadPaper) -> Result<Outcome, Fault> {
    let id = parse_id(&input.paper_id)?;
    let not_found =
        || Fault::not_found(format!("arXiv has no PDF of {id}. The paper does not exist, or it was withdrawn."));
    // An id has no character that needs percent-encoding.
    let response = http::send(service::introduced(Request::get("files", format!("/{id}")))?)?;
    if response.status() == 404 {
        return Err(not_found());
    }
    let response = response.successful()?;
    if response.peek(5)? != b"%PDF-" {
        return Err(if says_no_pdf(&response)? {
            not_found()
        } else {
            Fault::upstream(502, "arXiv answered with something that is not a PDF; try again later.")
        });
    }
    // The schema of the setting excludes negative numbers.
    let max_megabytes = u64::try_from(settings::max_download_mb()?).unwrap_or_default();
    Ok(Outcome::File(File {
        content: Content::Response(response),
        file_name: format!("{}.pdf", id.replace('/', "_")),
        content_type: "application/pdf".to_owned(),
        // An id has no character that JSON escapes.
        members: format!("{{\"paper_id\":\"{id}\"}}"),
        digest: true,
        max_bytes: max_megabytes.saturating_mul(1 << 20),
    }))
}

/// Returns `true` for arXiv's page about a paper without a PDF, for example a withdrawn one. It has
/// status 200. Other pages with this status, for example from a proxy, do not describe the paper.
fn says_no_pdf(response: &Response) -> Result<bool, Error> {
    if !response.header("content-type").is_some_and(|media_type| media_type.starts_with("text/html")) {
        return Ok(false);
    }
    let page = response.peek(TITLE_BYTES)?;
    let page = String::from_utf8_lossy(&page).to_lowercase();
    Ok(NO_PDF.iter().any(|text| page.contains(text)))
}
