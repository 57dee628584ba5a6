//! Recordings: the requests of one call of an operation, and the upstreams' responses to them, in a
//! file for tests.
//!
//! - here: the format of the file, and the folder of a project's files
//! - [`json`]: its values
//! - [`recorder`]: makes a recording of the requests that egress sends
//! - [`player`]: answers requests from a recording
//! - [`redaction`]: takes personal data and secrets out
//!
//! `connectors/docs/testing.md` describes the format and the rule of the redaction. The SDKs read
//! the same files.

mod json;
mod player;
mod recorder;
mod redaction;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub(crate) use self::json::Json;
pub(crate) use self::player::Player;
pub(crate) use self::recorder::Recorder;

use crate::module_file::FileError;
use egress::Target;

/// The folder of a project's recordings.
pub(crate) const FOLDER: &str = "recordings";

/// The version of the format. A file of another version is refused.
const FORMAT: u32 = 1;

/// One recorded call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recording {
    /// The version of the format.
    format: u32,
    /// The operation.
    pub(crate) operation: String,
    /// The caller's input.
    pub(crate) input: Json,
    /// The settings of the connector, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "as_object")]
    pub(crate) settings: Vec<(String, Json)>,
    /// The requests in the order in which they were sent.
    pub(crate) exchanges: Vec<Exchange>,
    /// The operation's answer.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    answer: Option<Json>,
    /// The problem document, without `instance`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    problem: Option<Json>,
}

/// `true` if a file in the folder of recordings is one by its name.
pub(crate) fn is_recording(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}

/// The recordings in a folder, sorted. Empty if there is no folder.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = |source| FileError { file: folder.to_owned(), source };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| is_recording(file));
    files.sort();
    Ok(files)
}

/// A member that is present, although it may be null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// The end of a call.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// The operation's answer.
    Answer(Json),
    /// The problem document, without `instance`.
    Problem(Json),
}

/// A request and its response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    pub(crate) request: Request,
    #[serde(rename = "answer")]
    pub(crate) response: Response,
}

/// A request as the connector made it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    method: String,
    upstream: String,
    /// The path below the upstream's base URL, with its query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The link that the request follows in place of a path, as the upstream gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Body>,
}

/// A response as the connector got it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Response {
    status: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Body>,
}

/// A body that is not empty.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    Json(Json),
    /// The fields of a form.
    Form(Vec<(String, String)>),
    /// The parts of a form with files. The text between them is another one in each call.
    Multipart(Vec<Part>),
    Text(String),
    Base64(String),
}

/// A part of a form with files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// The content of a field, so that a person can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The content of a file, as the caller gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl Part {
    fn sent(part: &egress::SentPart) -> Self {
        let text = std::str::from_utf8(&part.content).ok().filter(|_| part.file_name.is_none());
        Self {
            name: part.name.clone(),
            file_name: part.file_name.clone(),
            content_type: part.content_type.clone(),
            text: text.map(str::to_owned),
            base64: if text.is_some() { None } else { Some(STANDARD.encode(&part.content)) },
        }
    }
}

impl Body {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        if let Ok(json) = Json::parse(bytes) {
            return Some(Self::Json(json));
        }
        Some(match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        })
    }

    fn from_request(body: &egress::Body) -> Option<Self> {
        match body {
            // Connectors send no streamed bodies.
            egress::Body::Empty | egress::Body::Streamed { .. } => None,
            egress::Body::Json(bytes) | egress::Body::Typed { bytes, .. } => Self::from_bytes(bytes),
            egress::Body::Form(fields) => Some(Self::Form(fields.clone())),
            egress::Body::Multipart(body) => Some(Self::Multipart(body.parts().iter().map(Part::sent).collect())),
        }
    }

    fn bytes(&self) -> Result<Bytes, RecordingError> {
        let unreadable = |what: String| RecordingError::Unreadable(what);
        match self {
            Self::Json(json) => Ok(serde_json::to_vec(json).map_err(|error| unreadable(error.to_string()))?.into()),
            Self::Text(text) => Ok(Bytes::from(text.clone())),
            Self::Base64(text) => STANDARD.decode(text).map(Bytes::from).map_err(|error| unreadable(error.to_string())),
            Self::Form(_) => Err(unreadable("a response has no `form`".to_owned())),
            Self::Multipart(_) => Err(unreadable("a response has no `multipart`".to_owned())),
        }
    }

    fn means(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(one), Self::Json(other)) => one.means(other),
            (Self::Form(one), Self::Form(other)) => one == other,
            (Self::Multipart(one), Self::Multipart(other)) => one == other,
            (Self::Text(one), Self::Text(other)) | (Self::Base64(one), Self::Base64(other)) => one == other,
            _ => false,
        }
    }
}

impl Request {
    fn new(upstream: &egress::Upstream, request: &egress::Request) -> Self {
        let (path, link) = match &request.target {
            Target::Path(path) => (Some(path.clone()), None),
            Target::Link(link) => (None, Some(link.address().to_owned())),
        };
        Self {
            method: request.method.to_string(),
            upstream: upstream.name().to_owned(),
            path,
            link,
            headers: Vec::new(),
            body: Body::from_request(&request.body),
        }
    }

    /// Returns `true` if the requests are the same. Headers are not compared.
    fn equals(&self, other: &Self) -> bool {
        let same_body = match (&self.body, &other.body) {
            (Some(one), Some(other)) => one.means(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.method == other.method
            && self.upstream == other.upstream
            && self.path == other.path
            && self.link == other.link
            && same_body
    }
}

impl fmt::Display for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.path.as_deref().or(self.link.as_deref()).unwrap_or_default();
        write!(out, "{} {} {target}", self.method, self.upstream)
    }
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file is not a recording.
    #[error("it is not a recording: {0}")]
    Unreadable(String),
    /// The file has another version of the format.
    #[error("it has the format {0}, and this gateway reads format {FORMAT}; record it again")]
    Format(u32),
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not a recording.
    pub(crate) fn read(text: &[u8]) -> Result<Self, RecordingError> {
        let unreadable = |error: serde_json::Error| RecordingError::Unreadable(error.to_string());
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        match serde_json::from_slice(text).map_err(unreadable)? {
            Version { format: FORMAT } => serde_json::from_slice(text).map_err(unreadable),
            Version { format } => Err(RecordingError::Format(format)),
        }
    }

    /// The lines in which an end of the call differs from the recorded end. Empty if they mean the
    /// same.
    pub(crate) fn differences(&self, now: &End) -> Vec<String> {
        match (&self.answer, &self.problem, now) {
            (Some(recorded), None, End::Answer(now)) | (None, Some(recorded), End::Problem(now)) => {
                recorded.differences(now)
            }
            (_, _, End::Answer(now)) => {
                vec![format!("a problem is recorded, and now there is an answer: {}", now.shown())]
            }
            (_, _, End::Problem(now)) => {
                vec![format!("an answer is recorded, and now there is a problem: {}", now.shown())]
            }
        }
    }

    /// The recorded answer. `None` if a problem is recorded.
    pub(crate) fn answer(&self) -> Option<&Json> {
        self.answer.as_ref()
    }

    /// Replaces the end of the call.
    pub(crate) fn set_end(&mut self, end: End) {
        (self.answer, self.problem) = match end {
            End::Answer(answer) => (Some(answer), None),
            End::Problem(problem) => (None, Some(problem)),
        };
    }

    /// The content of the file.
    ///
    /// # Errors
    /// If a value has no JSON text.
    pub(crate) fn write(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Pairs as a JSON object.
mod as_object {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Json;

    pub(super) fn serialize<S: Serializer>(pairs: &[(String, Json)], serializer: S) -> Result<S::Ok, S::Error> {
        Json::Object(pairs.to_vec()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Json)>, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Object(members) => Ok(members),
            _ => Err(serde::de::Error::custom("`settings` is an object")),
        }
    }
}
