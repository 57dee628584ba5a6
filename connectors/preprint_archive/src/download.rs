//! The PDF of a paper, streamed past the connector.

use connector_sdk::{Content, Fault, File, Outcome, Request, config, http};

use crate::paper::parse_id;
use crate::{DownloadPaper, service};

/// Largest PDF in MiB, unless the operator sets `max_download_mb`.
const MAX_DOWNLOAD_MB: u64 = 50;

pub(crate) fn pdf(input: DownloadPaper) -> Result<Outcome, Fault> {
    let id = parse_id(&input.paper_id)?;
    let not_found =
        || Fault::NotFound(format!("arXiv has no PDF of {id}: there is no such paper, or it was withdrawn."));
    // The form of an id allows nothing that would have to be encoded.
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
            Fault::upstream(502, "arXiv answered with something that is no PDF; try again later.")
        });
    }
    let most = config::get::<u64>("max_download_mb")?.unwrap_or(MAX_DOWNLOAD_MB);
    Ok(Outcome::File(File {
        content: Content::Response(response),
        file_name: format!("{}.pdf", id.replace('/', "_")),
        content_type: "application/pdf".to_owned(),
        // An id holds nothing that JSON would escape.
        members: format!("{{\"paper_id\":\"{id}\"}}"),
        digest: true,
        max_bytes: most.saturating_mul(1 << 20),
    }))
}
