//! The operations of the catalogue that are live, each with the methods that it may call and its
//! inputs.

use serde_json::Value;
use support::catalogue::{operations, text};

use crate::inputs::inputs;
use crate::specifications::{Method, Specifications, Template, keeps_slashes};

/// A connector of the catalogue, and its operations.
pub(crate) struct Connector {
    pub(crate) id: String,
    pub(crate) provider: String,
    /// `true` if users connect accounts.
    pub(crate) has_accounts: bool,
    /// The upstreams, each with host and path of its base URL.
    pub(crate) upstreams: Vec<(String, String)>,
    pub(crate) operations: Vec<Operation>,
}

/// An operation.
pub(crate) struct Operation {
    pub(crate) path: String,
    /// Its entry in the catalogue.
    pub(crate) entry: Value,
    pub(crate) inputs: Vec<Value>,
    pub(crate) calls: Vec<Call>,
}

/// A call that an operation may send to an upstream.
pub(crate) struct Call {
    /// Method and URL, as the catalogue writes them.
    pub(crate) shown: String,
    pub(crate) verb: String,
    pub(crate) url: Template,
    /// Parameters of the query that have the same value in every request.
    pub(crate) constants: Vec<(String, String)>,
    /// The provider's methods of this call, or the reason why there are none.
    pub(crate) methods: Result<Vec<Method>, String>,
}

/// Host and path of an upstream that has no URL in the catalogue.
const ANYWHERE: &str = "hr.example/api";

impl Connector {
    /// Reads a connector of the catalogue. `description` is the description of the API.
    pub(crate) fn new(connector: &Value, description: &Value, specifications: &Specifications) -> Self {
        let (id, provider) = (text(connector, "id"), text(connector, "provider"));
        let upstreams: Vec<(String, String)> = connector["upstreams"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, url)| {
                let url = url.as_str().unwrap().strip_prefix("https://").unwrap_or(ANYWHERE);
                (name.clone(), url.to_owned())
            })
            .collect();
        let operations = operations(connector)
            .into_iter()
            .filter_map(|operation| {
                let path = text(operation, "path");
                let described = &description["paths"][format!("/connectors/{id}/{path}")]["post"];
                let described = described["requestBody"]["content"]["application/json"].get("schema")?;
                let calls = calls(operation, provider, &upstreams, specifications);
                let methods: Vec<Method> =
                    calls.iter().filter_map(|call| call.methods.clone().ok()).flatten().collect();
                let inputs = inputs(&format!("{id}/{path}"), operation, described, &methods);
                Some(Operation { path: path.to_owned(), entry: operation.clone(), inputs, calls })
            })
            .collect();
        let has_accounts = connector["auth"] != "none";
        Self { id: id.to_owned(), provider: provider.to_owned(), has_accounts, upstreams, operations }
    }
}

/// The calls of an operation. Calls to addresses that only an upstream knows are left out.
fn calls(
    operation: &Value,
    provider: &str,
    upstreams: &[(String, String)],
    specifications: &Specifications,
) -> Vec<Call> {
    let calls: Vec<&Value> = match operation["calls"].as_array() {
        Some(calls) => calls.iter().collect(),
        None => [&operation["request"]].into_iter().filter(|request| request.is_object()).collect(),
    };
    calls
        .into_iter()
        .filter_map(|call| {
            let (_, base) = upstreams.iter().find(|(name, _)| name == text(call, "upstream"))?;
            let path = text(call, "path")
                .replace("${settings.userinfo_path}", "/userinfo")
                .replace("${settings.employees_path}", "/employees");
            Some(Call {
                shown: format!("{} {base}{path}", text(call, "method")),
                verb: text(call, "method").to_owned(),
                url: Template::parse(&format!("{base}{path}"), |name| keeps_slashes(operation, name)),
                constants: constants(operation, call),
                methods: specifications.methods(provider, operation, call, base),
            })
        })
        .collect()
}

/// The constant parameters of a call of a composed operation. Other values of the catalogue say
/// where a value comes from: the name of a field, or a sentence.
fn constants(operation: &Value, call: &Value) -> Vec<(String, String)> {
    let is_constant = |value: &str| {
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "_.,*".contains(character);
        value.chars().all(is_plain) && operation["fields"].get(value).is_none()
    };
    let query = call["query"].as_object().into_iter().flatten();
    let values = query.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    values.filter(|(_, value)| is_constant(value)).collect()
}
