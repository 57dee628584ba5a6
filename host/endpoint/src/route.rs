//! The types of the table of routes.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use hyper::http::request::Parts;
use hyper::{Method, Response};
use serde_json::Value;
use tokio::time::Instant;

use super::authorize::AuthorizedCaller;
use super::body::RequestBody;
use super::lists::{List, Parameter, parameters};
use super::page::{SIZES, Sizes};
use auth::Scope;
use body::Body;
use calls::Recording;
use gateway::Gateway;
use metrics::{ADMIN, SYSTEM};
use pipeline::proxy::PROXY;
use problem::Problem;
use telemetry::Trace;

/// The answer of a handler, in a box: hyper moves the future of every request, so that future is
/// kept small.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Response<Body>, Problem>> + Send + 'a>>;

/// One path of the API.
pub struct Route {
    /// With the names of [`PathArguments`] in braces.
    pub path: &'static str,
    /// The routes that it belongs to.
    pub family: Family,
    /// In the order of the header `Allow`.
    pub methods: &'static [Endpoint],
}

/// One method of a path.
pub struct Endpoint {
    /// GET also answers HEAD if `takes_head` is set.
    pub method: Method,
    /// `false` if a HEAD request would change something. Only looked at for GET.
    pub takes_head: bool,
    /// The router refuses every other query.
    pub query: Query,
    /// Says who may call it, and answers.
    pub handler: Handler,
    /// `None` for operations, because the API's description lists the operations of each live
    /// connector, for parts of a page, and for routes that another protocol describes.
    pub description: Option<Description>,
}

/// The query that an endpoint takes.
#[derive(Clone, Copy, Debug)]
pub enum Query {
    /// The router refuses every parameter.
    None,
    /// The handler reads the parameters with `problem::read_query`, which refuses unknown names.
    Read,
    /// `limit` with these sizes, `cursor` and these filters. The handler reads them with
    /// `lists::read`, or with `page::read_place` if there are no filters.
    Page(Sizes, fn() -> Vec<Parameter>),
    /// Every parameter is accepted. Browsers and providers add parameters of their own to the
    /// addresses of pages, and the query of a proxied request belongs to the service. An operation
    /// has all its fields in the body.
    Any,
}

/// The callers that an endpoint admits, and the function that answers them.
pub enum Handler {
    /// Everyone may call it.
    Public(for<'a> fn(HttpCall<'a>) -> Answering<'a>),
    /// Callers with a valid token may call it.
    Known(for<'a> fn(HttpCall<'a>, AuthorizedCaller) -> Answering<'a>),
    /// Everyone may call it at [`Listener::Admin`], and callers with the scope `admin` at
    /// [`Listener::Callers`].
    Operator(for<'a> fn(HttpCall<'a>) -> Answering<'a>),
    /// Callers whose token has the scope may call it.
    Scoped(Scope, for<'a> fn(HttpCall<'a>, AuthorizedCaller) -> Answering<'a>),
}

/// The entry of an endpoint in the API's description.
pub struct Description {
    /// Last part of the `operationId`.
    pub id: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Everything else that the entry says.
    pub members: Members,
}

/// Further members of an Operation Object; `responses` is among them.
#[derive(Clone, Copy, Debug)]
pub enum Members {
    /// The endpoint answers with a record. A sentence about the answer, and the record's name.
    Record(&'static str, &'static str),
    /// A function makes them.
    By(fn() -> Value),
}

/// The listener that accepted the connection of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// `listen`
    Callers,
    /// `admin_listen`
    Admin,
    /// `hooks.listen`
    Hooks,
}

/// The other side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The listener that accepted the connection.
    pub listener: Listener,
    /// Its address. It is the one of a proxy if the caller is behind one.
    pub address: IpAddr,
    /// `true` if the connection is one of the reserve, beyond `max_connections`. It is for operators,
    /// who look what the other connections do.
    pub is_of_reserve: bool,
}

/// Routes that belong together in metrics, log lines and the API's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the routes have the same names")]
pub enum Family {
    Operations,
    Proxy,
    Jobs,
    Integrations,
    Webhooks,
    Hooks,
    Connectors,
    Mcp,
    ToolSets,
    AgentSessions,
    Triggers,
    Admin,
    System,
}

impl Family {
    /// The name of the operation in metrics and log lines. `None` for operations, which have theirs.
    pub fn label(self) -> Option<&'static str> {
        Some(match self {
            Self::Operations => return None,
            Self::Proxy => PROXY,
            Self::Jobs => "jobs",
            Self::Integrations => "integrations",
            Self::Webhooks => "webhooks",
            Self::Hooks => "hooks",
            Self::Connectors => "connectors",
            Self::Mcp => "mcp",
            Self::ToolSets => "tool-sets",
            Self::AgentSessions => "agent-sessions",
            Self::Triggers => "triggers",
            Self::Admin => ADMIN,
            Self::System => SYSTEM,
        })
    }

    /// Returns `true` if a connector is called, which metrics and log lines name.
    pub fn calls_connector(self) -> bool {
        matches!(self, Self::Operations | Self::Proxy | Self::Integrations | Self::Mcp)
    }
}

/// The segments of a path that a route's pattern names. A name that the pattern does not have is
/// empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field has the name in braces")]
pub struct PathArguments<'a> {
    pub connector: &'a str,
    pub operation: &'a str,
    pub job_id: &'a str,
    pub secret_id: &'a str,
    pub key_id: &'a str,
    pub webhook_id: &'a str,
    /// As it is in the path: percent-encoded.
    pub request_id: &'a str,
    pub upstream: &'a str,
    pub link_id: &'a str,
    /// The secret part of an inbox's address.
    pub address: &'a str,
    pub trigger_id: &'a str,
    pub event_id: &'a str,
    pub inbox_id: &'a str,
    pub inbox_secret_id: &'a str,
    /// The name of a tool set.
    pub set: &'a str,
    /// The id of an agent session.
    pub session_id: &'a str,
    /// The secret part of a link.
    pub token: &'a str,
    pub oauth_client: &'a str,
    pub authorization_id: &'a str,
    /// A file of the console.
    pub file: &'a str,
    /// As it is in the path: percent-encoded.
    pub tenant: &'a str,
    pub integration_id: &'a str,
    /// As it is in the path: percent-encoded.
    pub user_identifier: &'a str,
}

/// A call as a handler gets it.
pub struct HttpCall<'a> {
    /// The parts of the gateway.
    pub gateway: &'a Arc<Gateway>,
    /// The listener that accepted the connection.
    pub listener: Listener,
    /// The address of the caller, behind proxies that the operator trusts.
    pub caller_address: IpAddr,
    /// The method, the address and the headers.
    pub head: Parts,
    /// The handler reads it, or leaves it.
    pub body: &'a mut RequestBody,
    /// The arguments in the path.
    pub arguments: PathArguments<'a>,
    /// The id of the request.
    pub request_id: &'a str,
    /// When the head of the request had arrived. Deadlines are counted from here.
    pub arrived: Instant,
    /// The span of the call.
    pub trace: &'a Trace,
    /// The notes for the record of the call.
    pub recording: &'a Recording,
    /// The table of routes, for the API's description.
    pub routes: &'static [&'static [Route]],
}

impl Endpoint {
    /// An endpoint that reads. It takes HEAD requests too.
    pub const fn get(handler: Handler) -> Self {
        let mut endpoint = Self::new(Method::GET, handler);
        endpoint.takes_head = true;
        endpoint
    }

    /// An endpoint for POST.
    pub const fn post(handler: Handler) -> Self {
        Self::new(Method::POST, handler)
    }

    /// An endpoint for PUT.
    pub const fn put(handler: Handler) -> Self {
        Self::new(Method::PUT, handler)
    }

    /// An endpoint for PATCH.
    pub const fn patch(handler: Handler) -> Self {
        Self::new(Method::PATCH, handler)
    }

    /// An endpoint for DELETE.
    pub const fn delete(handler: Handler) -> Self {
        Self::new(Method::DELETE, handler)
    }

    const fn new(method: Method, handler: Handler) -> Self {
        Self { method, takes_head: false, query: Query::None, handler, description: None }
    }

    /// For reads that change something.
    pub const fn without_head(mut self) -> Self {
        self.takes_head = false;
        self
    }

    /// Sets the query that it takes. Without this, it takes none.
    pub const fn query(mut self, query: Query) -> Self {
        self.query = query;
        self
    }

    /// Lets it take the place of a page, in a list without filters.
    pub const fn page(self) -> Self {
        self.query(Query::Page(SIZES, Vec::new))
    }

    /// Lets it take the place of a page and the filters of a list.
    pub const fn list<L: List>(self) -> Self {
        self.query(Query::Page(L::SIZES, parameters::<L>))
    }

    /// Adds its entry in the API's description.
    pub const fn described(mut self, id: &'static str, summary: &'static str, members: Members) -> Self {
        self.description = Some(Description { id, summary, members });
        self
    }
}

impl Route {
    /// Returns `true` if the route is for the operator, so that it moves to `admin_listen` if that
    /// is set.
    pub fn is_for_operators(&self) -> bool {
        let is_operator = |endpoint: &Endpoint| matches!(endpoint.handler, Handler::Operator(_));
        self.family == Family::Admin || self.methods.iter().any(is_operator)
    }

    /// Returns `true` if the route is served at this listener. `has_admin_listener` says that
    /// `admin_listen` is set.
    pub fn is_served_by(&self, listener: Listener, has_admin_listener: bool) -> bool {
        match listener {
            Listener::Callers => !(has_admin_listener && self.is_for_operators()),
            Listener::Hooks => self.family == Family::Hooks,
            // The list of connectors is for both.
            Listener::Admin => self.is_for_operators() || matches!(self.family, Family::System | Family::Connectors),
        }
    }

    /// The value of the header `Allow`.
    pub fn allowed(&self) -> String {
        let mut methods = Vec::new();
        for endpoint in self.methods {
            methods.push(endpoint.method.as_str());
            if endpoint.method == Method::GET && endpoint.takes_head {
                methods.push("HEAD");
            }
        }
        methods.join(", ")
    }

    /// The endpoint for a method, or `None` if the path does not take it.
    pub fn endpoint(&self, method: &Method) -> Option<&Endpoint> {
        self.methods.iter().find(|endpoint| {
            endpoint.method == *method
                || *method == Method::HEAD && endpoint.method == Method::GET && endpoint.takes_head
        })
    }
}

impl<'a> PathArguments<'a> {
    /// The field for a name in braces, or `None` if no handler knows the name.
    pub fn field(&mut self, name: &str) -> Option<&mut &'a str> {
        match name {
            "{connector}" => Some(&mut self.connector),
            "{operation}" => Some(&mut self.operation),
            "{job_id}" => Some(&mut self.job_id),
            "{secret_id}" => Some(&mut self.secret_id),
            "{key_id}" => Some(&mut self.key_id),
            "{webhook_id}" => Some(&mut self.webhook_id),
            "{request_id}" => Some(&mut self.request_id),
            "{upstream}" => Some(&mut self.upstream),
            "{trigger_id}" => Some(&mut self.trigger_id),
            "{event_id}" => Some(&mut self.event_id),
            "{inbox_id}" => Some(&mut self.inbox_id),
            "{inbox_secret_id}" => Some(&mut self.inbox_secret_id),
            "{set}" => Some(&mut self.set),
            "{session_id}" => Some(&mut self.session_id),
            "{link_id}" => Some(&mut self.link_id),
            "{token}" => Some(&mut self.token),
            "{address}" => Some(&mut self.address),
            // The handler takes it from the path as it was sent.
            "{path}" => None,
            "{authorization_id}" => Some(&mut self.authorization_id),
            "{oauth_client}" => Some(&mut self.oauth_client),
            "{file}" => Some(&mut self.file),
            "{tenant}" => Some(&mut self.tenant),
            "{integration_id}" => Some(&mut self.integration_id),
            "{user_identifier}" => Some(&mut self.user_identifier),
            _ => None,
        }
    }
}
