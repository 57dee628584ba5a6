//! The content of a file that a caller uploads in one request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use connector_sdk::http::{Body, Method, TypedBytes};
use connector_sdk::{Fault, Outcome, Request};

use crate::UploadFile;

/// Sends the bytes of a file to the address of its name in a folder.
///
/// # Errors
/// [`Fault::InvalidInput`] if the content is not base64, if the media type cannot be a header, or
/// if a value cannot be in the path.
pub(crate) fn file(input: UploadFile) -> Result<Outcome, Fault> {
    let bytes = decode(&input.content_base64)?;
    check_media_type(&input.content_type)?;
    let mut request = Request::new(Method::Put, "graph", "/drives").segment("drive_id", &input.drive_id)?;
    request.path.push_str("/items");
    request = request.segment("parent_item_id", &input.parent_item_id)?;
    request.path.push(':');
    request = request.segment("file_name", &input.file_name)?;
    request.path.push_str(":/content");
    for (name, values) in input.query.unwrap_or_default().0 {
        request = request.query(&name, values.join(","));
    }
    request.body = Some(Body::Bytes(TypedBytes { content_type: input.content_type, bytes }));
    Ok(Outcome::Forward(request))
}

/// The bytes of base64 with padding (RFC 4648, section 4).
fn decode(content: &str) -> Result<Vec<u8>, Fault> {
    STANDARD.decode(content).map_err(|error| {
        let detail = format!("Give base64 with padding and without line breaks (RFC 4648, section 4). {error}.");
        Fault::invalid_input("/content_base64", detail)
    })
}

fn check_media_type(media_type: &str) -> Result<(), Fault> {
    let fits_header = |byte: u8| matches!(byte, b' '..=b'~');
    if !media_type.is_empty() && media_type.bytes().all(fits_header) {
        return Ok(());
    }
    Err(Fault::invalid_input(
        "/content_type",
        "Give a media type such as `text/plain`: ASCII without control characters.",
    ))
}
