//! The schemas of operations: they validate request bodies, and separate the members for the
//! connector from the members that shape the answer.
//!
//! - here: the schema of a request body
//! - `compile`: compiles any JSON Schema, and validates with it
//! - `cost`: bounds the cost of a schema and of a validation
//! - `value`: reads values, and finds names that occur twice
//! - `trial`: compiles and tries the schemas of a module in a limited process
//! - `violations`: collects as many violations as an answer lists
//! - `explain`: violations in words
//! - `fields`: the fields of an object, and what to say about another one

mod compile;
mod cost;
mod explain;
mod fields;
mod trial;
mod value;
mod violations;

use std::borrow::Cow;
use std::fmt;

use json_text::Member;
use serde_json::Value;
use serde_json::value::RawValue;

use contract::words::shortened;
use contract_rules::pointer;
use contract_rules::schema::NULLABLE;
use shape::Shape;

pub use self::compile::ValueSchema;
pub use self::cost::TooManySteps;
use self::cost::check_module;
pub use self::fields::Fields;
pub use self::trial::{Trial, run_file};
use self::value::Repeated;
use self::violations::Violations;
pub use self::violations::{MAX_VIOLATIONS, MORE_VIOLATIONS, Violation};

/// Accepts a URL, or says in a sentence what is wrong with it.
pub type UrlCheck = fn(&str) -> Result<(), String>;

/// Upper bound of the memory that the validation of a body takes, in addition to the body itself.
/// A body of many small parts takes much more than its text: `{"a":1},` has 8 bytes, and takes
/// about 600 when it is parsed.
pub fn parsed_bytes(body: &[u8]) -> usize {
    let of_parts = |byte: &u8| match byte {
        // An object has room for several members. A list and each further part have room for twice
        // as many.
        b'{' => 480,
        b'[' | b',' => 144,
        _ => 0,
    };
    body.len() + body.iter().map(of_parts).sum::<usize>()
}

/// The schema of an operation's request body.
pub struct Schema {
    schema: ValueSchema,
    /// `true` if callers may shape the answer.
    envelope: bool,
    /// Set if the operation runs in the background unless the caller waits.
    background: Option<UrlCheck>,
    /// Members whose null the connector gets. For other members null means that the member is
    /// absent.
    nullable: Vec<String>,
}

/// The members of the envelope.
const RESPONSE_FIELDS: &str = "response_fields";
const RESPONSE_FILTERS: &str = "response_filters";

/// The member that says if the caller of a background operation waits.
const WAITING: &str = "waiting";

/// The member with the URLs that receive the end of a background operation.
pub const CALLBACK_URLS: &str = "callback_urls";

/// Maximum number of callback URLs of one call.
pub const MAX_CALLBACK_URLS: usize = 10;

/// A valid request body.
pub struct Input<'a> {
    /// JSON text of an object for the connector: the body without the members of the envelope, and
    /// without nulls that mean an absent member.
    pub text: Cow<'a, str>,
    /// The filters and fields that the caller chose for the answer.
    pub shape: Shape,
    /// `None` if the caller waits for the answer.
    pub background: Option<Background>,
}

/// The options of a call that runs in the background.
#[derive(Debug, PartialEq, Eq)]
pub struct Background {
    /// URLs that receive the end.
    pub callback_urls: Vec<String>,
}

/// Why a request body is not accepted.
#[derive(Debug)]
pub enum InputError {
    /// The body is not JSON. The text says where.
    NotJson(String),
    /// The body breaks the schema. At most as many violations as an answer lists.
    Invalid(Vec<Violation>),
    /// The schema needs too many steps to validate the body. This is the connector's fault.
    TooCostly(TooManySteps),
    /// The schema cannot be compiled, although its trial has succeeded. This is the gateway's fault.
    NotCompiled(String),
}

/// The reason in words, after "is refused by its schema: ".
impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(reason) => out.write_str(reason),
            Self::TooCostly(_) => out.write_str("it would take too many steps to validate"),
            Self::NotCompiled(reason) => write!(out, "the schema {reason}"),
            Self::Invalid(violations) => {
                for (number, Violation { pointer, detail }) in violations.iter().enumerate() {
                    let separator = if number == 0 { "" } else { "; " };
                    let place = if pointer.is_empty() { "the whole" } else { pointer };
                    write!(out, "{separator}{place}: {}", detail.trim_end_matches('.'))?;
                }
                Ok(())
            }
        }
    }
}

impl Schema {
    /// Compiles a JSON Schema of an object. `envelope` says whether callers may shape the answer.
    ///
    /// # Errors
    /// A phrase that says what is wrong, to follow the name of the schema.
    pub fn compile(text: &str, envelope: bool) -> Result<Self, String> {
        let schema = ValueSchema::compile(text)?;
        if schema.document().get("type").and_then(Value::as_str) != Some("object") {
            return Err("must have \"type\": \"object\"".to_owned());
        }
        let properties = schema.document().get("properties").and_then(Value::as_object).into_iter().flatten();
        let is_nullable = |property: &Value| property.get(NULLABLE) == Some(&Value::Bool(true));
        let nullable = properties.filter(|(_, property)| is_nullable(property)).map(|(name, _)| name.clone()).collect();
        Ok(Self { schema, envelope, background: None, nullable })
    }

    /// Returns the schema of an operation that runs in the background, unless the member `waiting`
    /// is true. The schema declares this member, and perhaps `callback_urls`, which `check_url`
    /// accepts.
    #[must_use]
    pub fn in_background(self, check_url: UrlCheck) -> Self {
        Self { background: Some(check_url), ..self }
    }

    /// Validates a request body. White space alone and `null` count as `{}`.
    ///
    /// # Errors
    /// If the body is not JSON, or breaks the schema or the rules of the envelope.
    pub fn parse<'a>(&self, body: &'a [u8]) -> Result<Input<'a>, InputError> {
        let body = body.trim_ascii();
        let body = if body.is_empty() || body == b"null" { b"{}" } else { body };
        if body.starts_with(json_text::BYTE_ORDER_MARK) {
            return Err(InputError::NotJson(
                "the body begins with a byte order mark, which JSON must not have (RFC 8259, section 8.1); send it without"
                    .to_owned(),
            ));
        }
        let text = std::str::from_utf8(body)
            .map_err(|error| InputError::NotJson(format!("the body is not UTF-8 at byte {}", error.valid_up_to())))?;
        if !text.starts_with('{') {
            serde_json::from_str::<&RawValue>(text).map_err(not_json)?;
            return Err(InputError::Invalid(vec![Violation {
                pointer: String::new(),
                detail: "The body must be a JSON object.".to_owned(),
            }]));
        }
        let members = json_text::members(text).map_err(not_json)?;
        self.read_members(text, &members)
    }

    /// Validates the members of a body whose text is `text`.
    fn read_members<'a>(&self, text: &'a str, members: &[Member<'a>]) -> Result<Input<'a>, InputError> {
        let mut violations = Violations::default();
        let mut value = serde_json::Map::with_capacity(members.len());
        let (mut fields, mut filters, mut has_null_query) = (None, None, false);
        let mut repeated = Repeated::default();
        let mut for_connector = Vec::with_capacity(members.len());
        for (name, raw) in members {
            let is_null = raw.get() == "null";
            let is_repeated = if self.envelope && name == RESPONSE_FIELDS {
                fields.replace(*raw).is_some()
            } else if self.envelope && name == RESPONSE_FILTERS {
                filters.replace(*raw).is_some()
            } else if name == "query" && is_null {
                // Every operation accepts an empty `query`, so that callers may always send the
                // member.
                std::mem::replace(&mut has_null_query, true) || value.contains_key("query")
            } else {
                let member = value::read(name, raw.get(), &mut repeated).map_err(|error| not_readable(name, &error))?;
                let is_for_gateway = self.background.is_some() && matches!(&**name, WAITING | CALLBACK_URLS);
                let is_absent = is_null && !self.nullable.iter().any(|nullable| nullable == name);
                if !is_absent && !is_for_gateway {
                    for_connector.push((name.as_ref(), *raw));
                }
                value.insert(name.clone().into_owned(), member).is_some() || name == "query" && has_null_query
            };
            if is_repeated {
                repeated.add_member(name);
            }
        }
        for (name, pointer) in repeated.names() {
            violations.add(pointer, format!("The body contains `{}` more than once; send it once.", shortened(name)));
        }
        if repeated.has_more() {
            violations.note_more();
        }
        let mut shape = Shape::from_members(fields, filters);
        if let Err(wrong) = &mut shape {
            for violation in wrong.drain(..) {
                violations.add(violation.pointer, violation.detail);
            }
        }
        let value = Value::Object(value);
        self.schema.admit(&value, text.len()).map_err(InputError::TooCostly)?;
        let also_known: &[&str] = if self.envelope { &[RESPONSE_FIELDS, RESPONSE_FILTERS] } else { &[] };
        self.schema.validate(&value, also_known, &mut violations);
        let mut background = None;
        if let Some(check_url) = self.background {
            match callback_urls(value.get(CALLBACK_URLS), check_url) {
                Ok(callback_urls) if callback_urls.is_empty() && value.get(WAITING) == Some(&Value::Bool(true)) => {}
                Ok(callback_urls) => background = Some(Background { callback_urls }),
                // The schema has already said if a URL is not even text.
                Err(wrong) => {
                    for Violation { pointer, detail } in wrong {
                        if !violations.has(&pointer) {
                            violations.add(pointer, detail);
                        }
                    }
                }
            }
        }
        let (true, Ok(shape)) = (violations.is_empty(), shape) else {
            return Err(InputError::Invalid(violations.into_list()));
        };
        let is_whole = for_connector.len() == members.len();
        let text = if is_whole { Cow::Borrowed(text) } else { Cow::Owned(json_text::object(for_connector)) };
        Ok(Input { text, shape, background })
    }
}

/// The URLs of the member `callback_urls`.
fn callback_urls(member: Option<&Value>, check_url: UrlCheck) -> Result<Vec<String>, Vec<Violation>> {
    let member_pointer = pointer::of(CALLBACK_URLS);
    let wrong = |detail: String| vec![Violation { pointer: member_pointer.clone(), detail }];
    let urls = match member {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(urls)) => urls,
        Some(_) => return Err(wrong("Must be a list of URLs.".to_owned())),
    };
    if urls.len() > MAX_CALLBACK_URLS {
        return Err(wrong(format!("Must have at most {MAX_CALLBACK_URLS} items.")));
    }
    let mut violations = Vec::new();
    let mut accepted = Vec::with_capacity(urls.len());
    for (index, url) in urls.iter().enumerate() {
        let checked = url.as_str().map(|text| check_url(text).map(|()| text));
        match checked.unwrap_or_else(|| Err("Must be a URL.".to_owned())) {
            Ok(text) => accepted.push(text.to_owned()),
            Err(detail) => violations.push(Violation { pointer: format!("{member_pointer}/{index}"), detail }),
        }
    }
    if violations.is_empty() { Ok(accepted) } else { Err(violations) }
}

fn not_json(error: serde_json::Error) -> InputError {
    InputError::NotJson(format!("the body is not JSON: {error}"))
}

/// A member that is JSON, but that cannot be read. The message leaves out the position, because
/// it is counted from the beginning of the member.
fn not_readable(member: &str, error: &serde_json::Error) -> InputError {
    let member = shortened(member);
    let reason = error.to_string();
    InputError::NotJson(if reason.starts_with("number out of range") {
        format!(
            "the member `{member}` has a number beyond the range of a 64-bit floating point number, such as 1E400; send a smaller \
             number, or send it as a string if the field takes one"
        )
    } else if reason.starts_with("recursion limit") {
        format!("the member `{member}` is nested more than 127 levels deep; send fewer levels")
    } else if reason.contains("hex escape") {
        format!("the member `{member}` has an escape such as \\ud800 that is half of a character; send both halves")
    } else {
        let reason = reason.split(" at line").next().unwrap_or_default();
        format!("the member `{member}` cannot be read: {reason}")
    })
}

#[cfg(test)]
mod tests;
