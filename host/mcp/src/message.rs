//! Messages of JSON-RPC 2.0.

use std::collections::HashSet;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Revision;
use json_text::Member;

/// The text is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is not a request of JSON-RPC.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters of a method are not valid.
pub const INVALID_PARAMS: i64 = -32602;
/// The gateway failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// The type or the subscription that the request names is not there.
pub const NOT_FOUND: i64 = -32011;
/// The caller may not do this, or the user must act first.
pub const FORBIDDEN: i64 = -32012;
/// A limit is reached.
pub const EXHAUSTED: i64 = -32013;
/// The gateway does not offer an option that the request asks for.
pub const UNSUPPORTED: i64 = -32014;
/// A receiver that the request names did not answer as it must.
pub const CALLBACK_FAILED: i64 = -32015;
/// A header contradicts the body, or is missing.
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the method needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The gateway does not speak the revision.
pub const UNSUPPORTED_REVISION: i64 = -32022;
/// The user must open a URL first (revision 2025-11-25).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// The error of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// Code of JSON-RPC 2.0, or of the protocol.
    pub code: i64,
    /// A sentence for the developer of the client.
    pub message: String,
    /// Further facts for the client.
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without further facts.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The error of a client that has not declared an extension.
    pub fn missing_extension(extension: &str) -> Self {
        Self {
            code: MISSING_CAPABILITY,
            message: format!("The client must declare the extension `{extension}` for this."),
            data: Some(json!({"requiredCapabilities": {"extensions": {extension: {}}}})),
        }
    }

    /// The error of a revision that the gateway does not speak.
    pub fn unsupported(requested: &str) -> Self {
        let supported: Vec<_> = Revision::ALL.iter().map(|revision| revision.name()).collect();
        let message = format!("The revision `{requested}` is not supported; use one of {}.", supported.join(", "));
        Self {
            code: UNSUPPORTED_REVISION,
            message,
            data: Some(json!({"supported": supported, "requested": requested})),
        }
    }
}

/// A message of a client.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// It gets an answer.
    Request(Request<'a>),
    /// It gets none.
    Notification,
    /// The answer to a request of a server. The gateway sends no requests.
    Response,
}

/// A request of a client.
#[derive(Debug)]
pub struct Request<'a> {
    /// A string or a number, as the client wrote it.
    pub id: &'a RawValue,
    /// Name of the method.
    pub method: String,
    /// Its parameters.
    pub params: Params<'a>,
}

/// The most members of the parameters of a request. A method has six at most.
const MAX_PARAMS: usize = 64;

/// The arguments of a tool, which are checked by the schema of the tool. They may be as large as
/// the body, and stay a text.
const ARGUMENTS: &str = "arguments";

/// The most bytes of any other member of the parameters, because values are made of it.
const MAX_PARAM_BYTES: usize = 64 << 10;

/// The members of the parameters of a request, as texts.
#[derive(Debug, Default)]
pub struct Params<'a>(Vec<Member<'a>>);

impl<'a> Params<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// If it is no object, has too many members or one that is too large, or if a name occurs
    /// twice.
    pub fn read(raw: &'a RawValue) -> Result<Self, String> {
        let members = json_text::first_members(raw.get(), MAX_PARAMS)
            .map_err(|error| format!("they must be an object: {error}"))?;
        if members.count > MAX_PARAMS {
            return Err(format!("there are more than {MAX_PARAMS}"));
        }
        let mut names = HashSet::with_capacity(members.count);
        for (name, raw) in &members.first {
            let shown = contract::words::shortened(name);
            if !names.insert(name.as_ref()) {
                return Err(format!("`{shown}` occurs twice"));
            }
            if name != ARGUMENTS && raw.get().len() > MAX_PARAM_BYTES {
                return Err(format!("`{shown}` has more than {MAX_PARAM_BYTES} bytes"));
            }
        }
        Ok(Self(members.first))
    }

    /// The text of a member. `None` if it is missing or null.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().find(|(member, _)| member == name).map(|(_, raw)| *raw);
        found.filter(|raw| raw.get() != "null")
    }

    /// Returns `true` if there is such a member, even if it is null.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(member, _)| member == name)
    }

    /// A member that is a string. `None` if it is missing or something else.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// A member, parsed, if its text has this name somewhere. Else null.
    pub fn value_with(&self, name: &str, part: &str) -> Value {
        let may_have = |raw: &&RawValue| raw.get().contains(part) || raw.get().contains('\\');
        self.raw(name).filter(may_have).map(|_| self.value(name)).unwrap_or_default()
    }

    /// A member, parsed. Null if it is missing, or nested too deeply.
    pub fn value(&self, name: &str) -> Value {
        self.raw(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }
}

/// Most members of a message that are looked at. JSON-RPC has six.
const MAX_MEMBERS: usize = 16;

/// The most bytes of an id, and of a token for progress. The gateway keeps both while a call waits,
/// and repeats them in its answers.
pub const MAX_ID_BYTES: usize = 1024;

/// Reads one message.
///
/// # Errors
/// If it is no message of JSON-RPC. The id is returned if the message has one.
pub fn read(text: &str) -> Result<Incoming<'_>, (Option<&RawValue>, RpcError)> {
    let invalid = |id, reason: &str| (id, RpcError::new(INVALID_REQUEST, format!("The message {reason}.")));
    let parts = json_text::first_members(text, MAX_MEMBERS)
        .map_err(|error| invalid(None, &format!("is no object of JSON-RPC: {error}")))?;
    let member = |name: &str| parts.first.iter().find(|(member, _)| member == name).map(|(_, raw)| *raw);
    let id = member("id")
        .filter(|id| id.get().starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit()));
    if parts.count > MAX_MEMBERS {
        return Err(invalid(id.filter(|id| id.get().len() <= MAX_ID_BYTES), "has too many members"));
    }
    if id.is_some_and(|id| id.get().len() > MAX_ID_BYTES) {
        return Err(invalid(None, &format!("has an `id` of more than {MAX_ID_BYTES} bytes")));
    }
    if member("jsonrpc").is_none_or(|version| version.get() != "\"2.0\"") {
        return Err(invalid(id, "must have `\"jsonrpc\": \"2.0\"`"));
    }
    let Some(method) = member("method") else {
        let is_response = member("result").is_some() != member("error").is_some();
        return if is_response { Ok(Incoming::Response) } else { Err(invalid(id, "has no `method`")) };
    };
    let method: String =
        serde_json::from_str(method.get()).map_err(|_| invalid(id, "has a `method` that is no string"))?;
    if member("id").is_none() {
        return Ok(Incoming::Notification);
    }
    let id = id.ok_or_else(|| invalid(None, "must have an `id` that is a string or a number"))?;
    let params = match member("params").filter(|params| params.get() != "null") {
        None => Params::default(),
        Some(params) => Params::read(params).map_err(|reason| {
            (Some(id), RpcError::new(INVALID_PARAMS, format!("The parameters (`params`) are not valid: {reason}.")))
        })?,
    };
    Ok(Incoming::Request(Request { id, method, params }))
}

/// The answer to a request. `result` is JSON text.
pub fn success(id: &RawValue, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The answer to a request that failed. Without an id, `id` is null.
pub fn failure(id: Option<&RawValue>, error: &RpcError) -> String {
    let mut body = json!({"code": error.code, "message": error.message});
    if let Some(data) = &error.data {
        body["data"] = data.clone();
    }
    let id = id.map_or("null", RawValue::get);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{body}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Option<i64> {
        read(text).err().map(|(_, error)| error.code)
    }

    #[test]
    fn a_request_keeps_the_texts_of_its_parts() {
        let text = r#"{"jsonrpc":"2.0","id":1.50,"method":"tools/call","params":{"arguments":{"n":1.0},"x":null}}"#;
        let Ok(Incoming::Request(request)) = read(text) else { panic!("no request") };
        assert_eq!((request.id.get(), request.method.as_str()), ("1.50", "tools/call"));
        assert_eq!(request.params.raw("arguments").unwrap().get(), r#"{"n":1.0}"#);
        assert!(request.params.raw("x").is_none() && request.params.raw("y").is_none());
    }

    #[test]
    fn notifications_and_responses_get_no_answer() {
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            Ok(Incoming::Notification)
        ));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Incoming::Response)));
    }

    #[test]
    fn other_messages_are_refused() {
        for text in [
            "1",
            "[]",
            "{}",
            r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
        ] {
            assert_eq!(code(text), Some(INVALID_REQUEST), "{text}");
        }
        for params in ["[]", "1", r#"{"a":1,"a":2}"#] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"b","params":{params}}}"#);
            let (id, error) = read(&text).unwrap_err();
            assert_eq!((id.unwrap().get(), error.code), ("\"a\"", INVALID_PARAMS), "{params}");
        }
    }

    #[test]
    fn a_message_of_any_depth_is_read() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"arguments":{deep}}}}}"#);
        let Ok(Incoming::Request(request)) = read(&text) else { panic!("no request") };
        assert_eq!(request.params.value("arguments"), Value::Null);
    }
}
