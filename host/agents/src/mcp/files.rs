//! Files of operations that read, which are neither images nor texts: a result has a link with a
//! sealed address of the gateway.
//!
//! The gateway keeps no file. The address holds the call itself, sealed, and runs it again. So each
//! gateway on the database can serve it, and it takes no memory until someone opens it.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use hyper::Response;
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::lifecycle::{seal, unseal};
use super::tool_call::ToolCall;
use body::Body;
use body::media_type::essence;
use contract::Effect;
use endpoint::authorize::authorize_link;
use endpoint::headers::CallHeaders;
use endpoint::recorded::OpenCall;
use endpoint::route::HttpCall;
use mcp::Tool;
use problem::{self, Problem};
use rest::connectors::live_connector;
use rest::operations::{OperationCall, find_allowed};
use store::KeyId;

/// The time for which an address can be used.
const LIFETIME: Duration = Duration::from_secs(600);

/// The most bytes of arguments in an address. Clients and proxies take URLs of 8 KiB.
const MAX_BODY: usize = 4 << 10;

const CONTEXT: [&str; 1] = ["mcp file"];

/// The call of an operation whose answer is a file.
#[derive(Deserialize, Serialize)]
pub(super) struct FileCall {
    tenant: String,
    subject: String,
    key_id: Option<String>,
    connector: String,
    operation: String,
    account: Option<String>,
    body: String,
    /// Seconds since 1970.
    expires: u64,
}

fn now() -> u64 {
    clock::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl FileCall {
    /// The call for an address, if the operation can be run again and its arguments are not too long.
    pub(super) fn of(call: &ToolCall<'_>, tool: &Tool, body: &[u8]) -> Option<Self> {
        if tool.effect != Effect::Read || tool.is_background || body.len() > MAX_BODY {
            return None;
        }
        let caller = call.exchange.caller;
        Some(Self {
            tenant: caller.tenant().to_owned(),
            subject: caller.subject().to_owned(),
            key_id: caller.key_id().map(|id| id.0.clone()),
            connector: tool.connector.clone(),
            operation: tool.operation.clone(),
            account: call.call_headers.user_identifier.as_deref().map(str::to_owned),
            body: String::from_utf8(body.to_vec()).ok()?,
            expires: now() + LIFETIME.as_secs(),
        })
    }

    /// The part of a result that links to the file.
    pub(super) fn link(&self, call: &ToolCall<'_>, headers: &HeaderMap) -> Result<Value, Problem> {
        let gateway = call.exchange.gateway;
        let token = seal(gateway, &CONTEXT, &json!(self).to_string())?;
        let root = gateway.config.public_url.as_str().trim_end_matches('/');
        let name = headers.get(CONTENT_DISPOSITION).and_then(pipeline::file_name);
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let mut link = json!({
            "type": "resource_link",
            "uri": format!("{root}/mcp-files/{token}"),
            "name": name.as_ref().unwrap_or(&self.operation),
            "description": "The address can be used for ten minutes, without a key.",
            "mimeType": text(CONTENT_TYPE).map_or("application/octet-stream", essence),
        });
        if let Some(size) = text(CONTENT_LENGTH).and_then(|size| size.parse::<u64>().ok()) {
            link["size"] = size.into();
        }
        Ok(link)
    }
}

/// GET /mcp-files/{token}: runs the call of an address, and answers its file.
pub async fn get_file(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, arguments, arrived, trace, request_id, .. } = call;
    let opened = unseal(gateway, &CONTEXT, arguments.token).await?;
    let Some(file) = opened.and_then(|text| serde_json::from_str::<FileCall>(&text).ok()) else {
        return Err(problem::UNKNOWN_FILE.with_detail("The address was altered, or is not of this gateway."));
    };
    if file.expires <= now() {
        let detail = "The address of a file can be used for ten minutes; call the tool again for another one.";
        return Err(problem::FILE_EXPIRED.with_detail(detail));
    }
    let connector = live_connector(gateway, &file.connector)?;
    let operation =
        connector.operation(&file.operation).ok_or_else(|| problem::unknown_operation(&connector, &file.operation))?;
    let key_id = file.key_id.map(KeyId);
    let called = (file.connector.as_str(), operation);
    let caller = authorize_link(gateway, &file.tenant, &file.subject, key_id, called).await?;
    if operation.manifest.effect != Effect::Read {
        return Err(problem::UNKNOWN_FILE.with_detail("The operation changes data now, so it is not run again."));
    }
    let mut call_headers = CallHeaders::parse(&head.headers)?;
    call_headers.user_identifier = file.account.map(Box::from);
    let names = (file.connector.as_str(), file.operation.as_str());
    let mut open = OpenCall::begin(&gateway.calls, request_id, names, arrived);
    open.is_of(&caller);
    let body = gateway.egress.memory().hold_bytes(Bytes::from(file.body)).map_err(problem::no_memory)?;
    let recording = open.recording.clone();
    let answering = async {
        let operation = find_allowed(&caller, &connector, &file.operation, trace, &recording)?;
        let mut call =
            OperationCall::new(gateway, caller.clone(), &connector, call_headers, arrived, trace, &recording);
        (call.body, call.takes_any_file) = (body, true);
        call.answer(&connector, operation).await
    };
    match Box::pin(answering).await {
        Ok(mut response) => {
            open.end(&mut response, None);
            protect(response.headers_mut());
            Ok(response)
        }
        Err(problem) => {
            open.fail(&problem);
            Err(problem)
        }
    }
}

/// Keeps a browser from running a file as a page of the gateway.
fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CONTENT_DISPOSITION).or_insert(HeaderValue::from_static("attachment"));
}
