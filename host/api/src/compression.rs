//! Compresses answers with gzip or zstd, if the caller accepts it and the answer gets smaller.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream::try_unfold;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body as _, Frame};
use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderValue, VARY,
};
use memory::{MemoryBudget, Reservation};

use body::media_type::{essence, is_json, is_zero_weight};
use body::{Body, full, of_pieces, rejoined};
use egress::EgressError;

/// A smaller answer fits in one packet, so compression gains nothing.
const LEAST_BYTES: usize = 1024;

/// The value of `Vary` for an answer that may be compressed.
const ACCEPT_ENCODING_NAME: &str = "Accept-Encoding";

/// The level of zstd that takes the least time, and the distance in which it looks for repetitions:
/// 2^17 bytes. Both keep its memory small.
const ZSTD_LEVEL: i32 = 1;
const ZSTD_WINDOW_LOG: u32 = 17;

/// Headers with a sum of the bytes of an answer.
const SUMS: [&str; 4] = ["content-digest", "content-md5", "digest", "repr-digest"];

/// A way to write an answer in fewer bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Zstd,
}

impl Encoding {
    /// The encoding for a header `Accept-Encoding`. zstd is preferred, because it takes less time.
    /// `None` if the caller accepts neither.
    pub(super) fn negotiated(accepted: Option<&HeaderValue>) -> Option<Self> {
        let accepted = accepted?;
        if accepts_encoding(accepted, "zstd") {
            Some(Self::Zstd)
        } else {
            accepts_encoding(accepted, "gzip").then_some(Self::Gzip)
        }
    }

    /// An upper bound of the memory that an encoder takes until the answer is sent.
    fn memory(self) -> usize {
        match self {
            Self::Gzip => 384 << 10,
            Self::Zstd => 1 << 20,
        }
    }

    fn name(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Returns `true` if a header `Accept-Encoding` names an encoding.
pub(super) fn accepts_encoding(accepted: &HeaderValue, name: &str) -> bool {
    accepted.to_str().unwrap_or_default().split(',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|named| named.eq_ignore_ascii_case(name));
        is_named && !parts.any(is_zero_weight)
    })
}

/// Returns the answer in this encoding, if it is text and not too small. An answer that streams
/// still streams. Large pieces are encoded on other threads than those that serve.
pub(super) async fn compressed(response: Response<Body>, encoding: Encoding, memory: &MemoryBudget) -> Response<Body> {
    if !is_text(response.headers()) || response.body().size_hint().exact().is_some_and(|size| size < LEAST_BYTES as u64)
    {
        return response;
    }
    let (mut parts, mut body) = response.into_parts();
    // The size of a stream is not known. A small one often comes in one piece.
    let first = match body.frame().await {
        None => return Response::from_parts(parts, body),
        Some(Err(error)) => return Response::from_parts(parts, rejoined([Err(error)], body)),
        Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
    };
    if first.len() < LEAST_BYTES && body.is_end_stream() {
        return Response::from_parts(parts, full(first));
    }
    // A caller that does not read its answer keeps an encoder.
    let mut held = memory.part();
    let (Ok(()), Ok(encoder)) = (held.grow_to(encoding.memory()), Encoder::new(encoding)) else {
        return Response::from_parts(parts, rejoined([Ok(first)], body));
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.remove(ACCEPT_RANGES);
    parts.headers.insert(CONTENT_ENCODING, encoding.name());
    let says_so = |varies: &HeaderValue| varies.as_bytes() == ACCEPT_ENCODING_NAME.as_bytes();
    if !parts.headers.get_all(VARY).iter().any(says_so) {
        parts.headers.append(VARY, HeaderValue::from_static(ACCEPT_ENCODING_NAME));
    }
    let state = State { first: Some(first), body, encoder, memory: memory.clone(), _held: held };
    let pieces = try_unfold(Some(state), |state| async move {
        let Some(state) = state else { return Ok(None) };
        state.next().await.map(Some)
    });
    Response::from_parts(parts, of_pieces(pieces))
}

/// Returns `true` if the media type is one of text, which gets smaller. Images, archives and the
/// like are compressed already.
fn is_text(headers: &HeaderMap) -> bool {
    let describes_bytes = has_strong_tag(headers) || SUMS.iter().any(|name| headers.contains_key(*name));
    let is_fixed = describes_bytes || must_stay(headers);
    if is_fixed || headers.contains_key(CONTENT_ENCODING) || headers.contains_key(CONTENT_RANGE) {
        return false;
    }
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence).unwrap_or_default();
    let has_suffix =
        media_type.ends_with("+xml") || matches!(media_type, "application/xml" | "application/openmetrics-text");
    // An encoder would hold events back.
    let is_events = media_type == "text/event-stream";
    is_json(media_type) || media_type.starts_with("text/") && !is_events || has_suffix
}

/// Returns `true` if the tag of an answer stands for its bytes (RFC 9110, section 8.8.1).
/// Compressed, the answer would need another tag, which its service does not know.
fn has_strong_tag(headers: &HeaderMap) -> bool {
    headers.get(ETAG).is_some_and(|tag| !tag.as_bytes().starts_with(b"W/"))
}

/// Returns `true` if the service of an answer says that no one on its way may encode it (RFC 9111,
/// section 5.2.2.6).
fn must_stay(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(CACHE_CONTROL).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|directive| directive.trim().eq_ignore_ascii_case("no-transform"))
}

/// A body that is being encoded.
struct State {
    /// Read before the encoding began.
    first: Option<Bytes>,
    body: Body,
    encoder: Encoder,
    memory: MemoryBudget,
    /// Counts the encoder.
    _held: Reservation,
}

impl State {
    /// The next piece, and the state after it. `None` after the last piece.
    async fn next(mut self) -> Result<(Frame<Bytes>, Option<Self>), EgressError> {
        loop {
            let piece = match self.first.take() {
                Some(first) => Some(first),
                None => self.body.frame().await.transpose()?.map(|frame| frame.into_data().unwrap_or_default()),
            };
            let Some(piece) = piece else {
                let last = self.encoder.finish().map_err(|error| broken(&error))?;
                return Ok((Frame::data(self.memory.hold_bytes(last.into())?), None));
            };
            let encoded = compute::run(piece.len(), || self.encoder.push(&piece)).await;
            let encoded = encoded.map_err(|error| broken(&error))?;
            if !encoded.is_empty() {
                let held = self.memory.hold_bytes(encoded.into())?;
                return Ok((Frame::data(held), Some(self)));
            }
        }
    }
}

fn broken(error: &io::Error) -> EgressError {
    EgressError::BadResponse { upstream: "the gateway".to_owned(), detail: format!("it cannot be encoded: {error}") }
}

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    fn new(encoding: Encoding) -> io::Result<Self> {
        Ok(match encoding {
            Encoding::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), Compression::fast())),
            Encoding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.window_log(ZSTD_WINDOW_LOG)?;
                Self::Zstd(encoder)
            }
        })
    }

    /// Encodes a piece to its end, so that the caller can read all of it before the next one comes.
    fn push(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                Ok(std::mem::take(encoder.get_mut()))
            }
            Self::Zstd(encoder) => {
                encoder.write_all(piece)?;
                encoder.flush()?;
                Ok(std::mem::take(encoder.get_mut()))
            }
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn negotiated(accepted: &'static str) -> Option<Encoding> {
        Encoding::negotiated(Some(&HeaderValue::from_static(accepted)))
    }

    #[test]
    fn the_encoding_is_one_that_the_caller_names() {
        assert_eq!(negotiated("gzip, deflate, br, zstd"), Some(Encoding::Zstd));
        assert_eq!(negotiated("GZIP;q=0.5"), Some(Encoding::Gzip));
        assert_eq!(negotiated("zstd;q=0, gzip"), Some(Encoding::Gzip));
        for neither in ["identity", "*", "br", "gzip;q=0", "gzip; q=0.", ""] {
            assert_eq!(negotiated(neither), None, "{neither}");
        }
        assert_eq!(Encoding::negotiated(None), None);
    }

    async fn encode(content_type: &'static str, body: String, encoding: Encoding) -> (Option<String>, Vec<u8>) {
        let mut response = Response::new(full(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let encoded = compressed(response, encoding, &MemoryBudget::unlimited()).await;
        let name = encoded.headers().get(CONTENT_ENCODING).map(|value| value.to_str().unwrap().to_owned());
        (name, encoded.into_body().collect().await.unwrap().to_bytes().to_vec())
    }

    #[tokio::test]
    async fn a_text_is_the_same_after_decoding() {
        let text = "[1, 2, 3] ".repeat(100_000);
        let (name, body) = encode("application/json", text.clone(), Encoding::Gzip).await;
        let mut decoded = String::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut decoded).unwrap();
        assert!(name.as_deref() == Some("gzip") && body.len() < text.len() / 10 && decoded == text);
        let (name, body) = encode("text/csv; charset=utf-8", text.clone(), Encoding::Zstd).await;
        assert!(name.as_deref() == Some("zstd") && body.len() < text.len() / 10);
        assert_eq!(zstd::decode_all(&body[..]).unwrap(), text.as_bytes());
    }

    #[tokio::test]
    async fn without_memory_for_an_encoder_an_answer_stays_as_it_is() {
        let text = "[1, 2, 3] ".repeat(1000);
        let mut response = Response::new(full(text.clone()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let answer = compressed(response, Encoding::Zstd, &MemoryBudget::new(100 << 10)).await;
        assert!(!answer.headers().contains_key(CONTENT_ENCODING));
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), text);
    }

    #[tokio::test]
    async fn an_answer_whose_headers_describe_its_bytes_or_forbid_a_coding_stays_as_it_is() {
        let cases = [
            ("etag", "\"1\"", false),
            ("etag", "W/\"1\"", true),
            ("content-digest", "sha-256=:AA==:", false),
            ("cache-control", "private, No-Transform", false),
            ("cache-control", "private, max-age=60", true),
            ("x-other", "1", true),
        ];
        for (name, value, is_compressed) in cases {
            let mut response = Response::new(full("x".repeat(LEAST_BYTES)));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response.headers_mut().insert(name, HeaderValue::from_static(value));
            let answer = compressed(response, Encoding::Gzip, &MemoryBudget::unlimited()).await;
            assert_eq!(answer.headers().contains_key(CONTENT_ENCODING), is_compressed, "{name}: {value}");
        }
    }

    #[tokio::test]
    async fn small_answers_and_files_stay_as_they_are() {
        for (content_type, size) in
            [("application/json", LEAST_BYTES - 1), ("image/png", 1 << 20), ("application/zip", 1 << 20)]
        {
            let (name, body) = encode(content_type, "x".repeat(size), Encoding::Gzip).await;
            assert_eq!((name, body.len()), (None, size), "{content_type}");
        }
    }
}
