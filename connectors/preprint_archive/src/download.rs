//! The PDF of a paper. The gateway streams it to the caller.

use connector_sdk::{Content, Fault, File, Outcome, Request, http};

use crate::paper::parse_id;
use crate::{DownloadPaper, service, settings};

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
        let is_page = response.header("content-type").is_some_and(|media_type| media_type.starts_with("text/html"));
        return Err(if is_page {
            not_found()
        } else {
            Fault::upstream(502, "arXiv answered with a file that is not a PDF; try again later.")
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
