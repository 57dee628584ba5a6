//! The response of an upstream as the answer: JSON, or a file.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::body::Body as _;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderValue,
};
use percent_encoding::percent_decode_str;
use serde::de::IgnoredAny;
use url::Url;

use super::answer::{CallAnswer, DOWNLOAD_MB, Form, RESPONSE_MB, naming, not_json, of_json};
use super::disposition::file_name;
use super::file_answer::of_file;
use super::refusal::upstream_error;
use super::{Error, run_computation};
use body::media_type::{essence, is_json};
use body::streamed;
use contract::Answer as Kind;
use egress::EgressError;
use registry::Permit;
use sandbox::invocation::{Content, File};

/// Maximum number of white-space characters before a JSON document.
const MAX_BLANK_BYTES: usize = 64 << 10;

/// Answers with the response of an upstream, as the kind of answer that the operation declares.
///
/// # Errors
/// `Upstream` for a status that is not a success, `NotUnderstood` for a response that is not JSON
/// though the operation answers JSON, and errors of reading the body.
pub(super) async fn of_response(
    mut response: Box<egress::Response>,
    form: &Form<'_>,
    permit: Permit,
) -> Result<CallAnswer, Error> {
    if !response.status.is_success() {
        return Err(upstream_error(*response).await);
    }
    response.body.settle().await?;
    let is_json = match form.operation.manifest.answer {
        Kind::Json => true,
        Kind::File => false,
        Kind::Any => {
            is_json(media_type(&response.headers))
                || has_no_content(&response)
                || response.body.peek(1).await?.is_empty()
        }
    };
    if is_json {
        // A part of a document is no JSON, although it may begin like it.
        let has_asked = form.range.is_some() && form.accept.may_be_a_file();
        let is_part = has_asked && response.status == StatusCode::PARTIAL_CONTENT;
        if is_part && form.operation.manifest.answer == Kind::Any {
            return Err(Error::NotRaw { content_type: media_type(&response.headers).to_ascii_lowercase() });
        }
        of_json_response(response, form, permit).await
    } else {
        Box::pin(of_download(response, form, permit)).await
    }
}

/// Returns `true` if a `Content-Encoding` names a coding of RFC 9110, section 18.6, or its
/// registry. Some services write something else there, such as `utf-8`, and encode nothing.
fn names_coding(header: &HeaderValue) -> bool {
    const CODINGS: [&[u8]; 7] = [b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress", b"br", b"zstd"];
    let mut names = header.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    names.any(|name| CODINGS.iter().any(|coding| name.eq_ignore_ascii_case(coding)))
}

/// Answers with a file that an upstream sends, or with the part of it that the caller requests.
async fn of_download(
    mut response: Box<egress::Response>,
    form: &Form<'_>,
    permit: Permit,
) -> Result<CallAnswer, Error> {
    // No request asks for a coding that is left here, and no one would know how the file is encoded.
    let coding = response.headers.get(CONTENT_ENCODING).filter(|coding| names_coding(coding));
    if let Some(coding) = coding
        && !response.body.peek(1).await?.is_empty()
    {
        return Err(Error::NotUnderstood(format!(
            "The upstream's response is encoded as {coding:?}, though only gzip was asked for."
        )));
    }
    let is_partial = response.status == StatusCode::PARTIAL_CONTENT;
    let part = response.headers.get(CONTENT_RANGE).filter(|_| is_partial).cloned();
    // With the status 200, the part would look like the whole file.
    if is_partial && part.is_none() && form.range.is_some() && form.accept.may_be_a_file() {
        return Err(Error::NotUnderstood(
            "The upstream sent a part of the file (206), and did not say which part it is (Content-Range). Leave Range out."
                .to_owned(),
        ));
    }
    let accepts_ranges = response.headers.get(ACCEPT_RANGES).cloned();
    let file = downloaded(response, form);
    let is_raw = form.accept.is_raw(&file.content_type);
    if form.range.is_some() && part.is_some() && !is_raw {
        return Err(Error::NotRaw { content_type: file.content_type });
    }
    let mut answer = of_file(file, form, permit).await?;
    if is_raw {
        answer.headers.extend(accepts_ranges.map(|accepted| (ACCEPT_RANGES, accepted)));
        if let Some(part) = part {
            answer.status = StatusCode::PARTIAL_CONTENT;
            answer.headers.insert(CONTENT_RANGE, part);
        }
    }
    Ok(answer)
}

/// Answers with a response that must be JSON. It is streamed if nothing is to be done with it. An
/// empty body becomes `{}`.
async fn of_json_response(
    mut response: Box<egress::Response>,
    form: &Form<'_>,
    permit: Permit,
) -> Result<CallAnswer, Error> {
    response.body.skip_mark().await?;
    let first = if has_no_content(&response) { None } else { first_byte(&mut response.body).await? };
    let Some(first) = first else { return of_json(Bytes::from_static(b"{}"), form, permit).await };
    let media_type = media_type(&response.headers);
    let is_declared = is_json(media_type);
    if !is_declared && !media_type.is_empty() && !media_type.eq_ignore_ascii_case("text/plain") {
        return Err(not_json(&format!("it has the media type `{}`", shorten(media_type))));
    }
    match first {
        b'{' | b'[' => {}
        b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if is_declared => {}
        // Plain text may begin like a number or a word of JSON.
        b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
            let document =
                response.body.collect(form.limits.response_bytes).await.map_err(naming(Some(RESPONSE_MB)))?;
            let check = || serde_json::from_slice::<IgnoredAny>(&document);
            run_computation(document.len(), form.deadline, check)
                .await?
                .map_err(|error| not_json(&error.to_string()))?;
            return of_json(document, form, permit).await;
        }
        _ => return Err(not_json("it does not begin like JSON")),
    }
    if form.shape.is_identity() {
        let limit = form.limits.download_bytes;
        if response.body.size_hint().lower() > limit {
            return Err(Error::TooLarge { limit, key: Some(DOWNLOAD_MB) });
        }
        return Ok(CallAnswer::json(streamed(response.body.at_most(limit), permit)));
    }
    let document = response.body.collect(form.limits.response_bytes).await.map_err(naming(Some(RESPONSE_MB)))?;
    of_json(document, form, permit).await
}

/// The response as a file.
fn downloaded(response: Box<egress::Response>, form: &Form<'_>) -> File {
    let media_type = media_type(&response.headers);
    let name = response.headers.get(CONTENT_DISPOSITION).and_then(file_name);
    File {
        file_name: name
            .or_else(|| last_segment(&response.url()))
            .unwrap_or_else(|| form.operation.manifest.path.clone()),
        content_type: match media_type {
            "" => "application/octet-stream".to_owned(),
            media_type => media_type.to_ascii_lowercase(),
        },
        content: Content::Response(Box::new((*response).into())),
        members: String::new(),
        digest: false,
        max_bytes: 0,
    }
}

/// The last segment of a URL's path, decoded. `None` if it is empty.
fn last_segment(url: &Url) -> Option<String> {
    let segment = url.path_segments()?.next_back()?;
    let name = percent_decode_str(segment).decode_utf8_lossy().replace(['/', '\\'], "_");
    (!name.is_empty()).then_some(name)
}

/// Returns `true` if the status says that there is no content (RFC 9110, sections 15.3.5 and
/// 15.3.6).
fn has_no_content(response: &egress::Response) -> bool {
    matches!(response.status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT)
}

/// The first byte of a body that is not white space of JSON. `None` if there is no such byte. It
/// stays in the body.
async fn first_byte(body: &mut egress::ResponseBody) -> Result<Option<u8>, EgressError> {
    let mut length = 1;
    loop {
        let ahead = body.peek(length).await?;
        let first = ahead.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if first.is_some() || ahead.len() < length || length > MAX_BLANK_BYTES {
            return Ok(first.or_else(|| ahead.get(MAX_BLANK_BYTES)).copied());
        }
        length *= 16;
    }
}

/// The media type without parameters; empty if there is none.
fn media_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence).unwrap_or_default()
}

/// A text of the upstream at a length that fits a sentence.
fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}
