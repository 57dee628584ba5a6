//! A row, and its parts. All texts may be constants, so that the SDK's macro writes rows as data
//! that is read in place.

use std::borrow::Cow;

/// A text of a row.
pub type Text = Cow<'static, str>;

/// A list of a row.
type List<T> = Cow<'static, [T]>;

/// An operation that is one request. The request follows from the input and this description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Method of the request.
    pub method: Method,
    /// Name of the upstream.
    pub upstream: Text,
    /// The path, without the query.
    pub path: List<Piece>,
    /// Query that is always sent, encoded; may be empty.
    pub fixed_query: Text,
    /// Fields of the input, in the order of the row.
    pub fields: List<Field>,
    /// Query parameters that are sent unless the caller gives them.
    pub default_query: List<DefaultQuery>,
    /// Headers that the row sets.
    pub headers: List<Header>,
    /// The fields that make the body.
    pub payload: Payload,
    /// How the body is written.
    pub encoding: BodyEncoding,
}

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 6] = [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// The name in a request.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// How the body of a row is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum BodyEncoding {
    /// As JSON.
    Json,
    /// As `application/x-www-form-urlencoded`.
    Form,
    /// As `multipart/form-data`.
    Multipart,
}

/// A part of a path or of a header's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Fixed text.
    Text(Text),
    /// The value of the field with this index. Headers have no such piece.
    Field(usize),
    /// A setting of the connector.
    Setting {
        /// Its name.
        name: Text,
        /// Its value if the operator sets none, as JSON text.
        default: Option<Text>,
    },
}

/// A field of the input: the part of its declaration that the request depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Field {
    /// Its name in the input.
    pub name: Text,
    /// The part of the request that takes its value.
    pub location: Location,
    /// `true` if the request cannot be made without it.
    pub required: bool,
    /// `true` if its numbers are integers, which may come as `1.0` or `1e2`.
    pub integer: bool,
    /// How a list is sent.
    pub lists: Lists,
    /// Maximum size in bytes: of a string's value, or of the JSON text of any other value.
    pub max_bytes: Option<usize>,
    /// JSON text that is sent if the field is absent.
    pub default: Option<Text>,
    /// `true` if null is sent. Otherwise null means that the field is absent.
    pub nullable: bool,
}

impl Field {
    /// A required field without bounds and a default. A list in it is joined with commas.
    #[must_use]
    pub fn new(name: impl Into<Text>, location: Location) -> Self {
        Self {
            name: name.into(),
            location,
            required: true,
            integer: false,
            lists: Lists::Joined(Cow::Borrowed(",")),
            max_bytes: None,
            default: None,
            nullable: false,
        }
    }
}

/// The part of the request that takes a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "tag", content = "val", rename_all = "kebab-case"))]
pub enum Location {
    /// A part of the path.
    Path(Encoding),
    /// A query parameter of this name.
    Query(Text),
    /// The value is an object whose members are query parameters.
    QueryEntries,
    /// A member of the body at these names, outermost first. At least one.
    Body(List<Text>),
    /// The value is the body.
    WholeBody,
    /// A file, which is a part of this name.
    File(Text),
    /// A header of this name.
    Header(Text),
    /// The value is an object whose members are headers.
    HeaderEntries,
}

/// How a value is written into a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Encoding {
    /// All characters except RFC 3986's unreserved ones are percent-encoded, so that the value is
    /// one segment.
    Segment,
    /// Slashes are not encoded, so that the value may have several segments.
    Path,
    /// Single quotes are doubled before the value is percent-encoded, as in an OData string
    /// literal.
    #[cfg_attr(feature = "serde", serde(rename = "odata-string"))]
    ODataString,
}

/// How a list is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "tag", content = "val", rename_all = "kebab-case"))]
pub enum Lists {
    /// As JSON, in a body.
    AsTheyAre,
    /// As one value with this separator, which is percent-encoded in a query.
    Joined(Text),
    /// As one parameter for each item.
    Repeated,
}

/// A query parameter that is sent unless the caller gives it or one of some others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct DefaultQuery {
    /// `name=value`, encoded.
    pub parameter: Text,
    /// The parameters that suppress it, its own name included.
    pub unless: List<Text>,
}

/// A header that the row sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Name of the header.
    pub name: Text,
    /// Its value. If a setting in it has no value, the header is not sent.
    pub value: List<Piece>,
    /// The header is sent only if the caller gave one of these query parameters. If the list is
    /// empty, it is always sent.
    pub when: List<Trigger>,
}

/// A query parameter that a header is sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct Trigger {
    /// Name of the parameter.
    pub parameter: Text,
    /// A value for which the header is not sent, for example `false`.
    pub unless: Option<Text>,
}

/// The fields that make the body of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// The request has no body.
    None,
    /// The value of the field with this index, if the caller gives it.
    Whole(usize),
    /// An object: members that are always sent, as JSON text without braces, then the fields with
    /// these indices.
    Members {
        /// May be empty.
        fixed: Text,
        /// Members of one inner object follow one another.
        fields: List<usize>,
    },
}
