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
pub(super) type Answering<'a> = Pin<Box<dyn Future<Output = Result<Response<Body>, Problem>> + Send + 'a>>;

/// One path of the API.
pub(super) struct Route {
    /// With the names of [`PathArguments`] in braces.
    pub(super) path: &'static str,
    pub(super) family: Family,
    /// In the order of the header `Allow`.
    pub(super) methods: &'static [Endpoint],
}

/// One method of a path.
pub(super) struct Endpoint {
    pub(super) method: Method,
    /// `false` if a HEAD request would change something. Only looked at for GET.
    pub(super) takes_head: bool,
    pub(super) query: Query,
    pub(super) handler: Handler,
    /// `None` for operations, because the API's description lists the operations of each live
    /// connector, for parts of a page, and for routes that another protocol describes.
    pub(super) description: Option<Description>,
}

/// The query that an endpoint takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Query {
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
pub(super) enum Handler {
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
pub(super) struct Description {
    /// Last part of the `operationId`.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) members: Members,
}

/// Further members of an Operation Object; `responses` is among them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Members {
    /// The endpoint answers with a record. A sentence about the answer, and the record's name.
    Record(&'static str, &'static str),
    /// A function makes them.
    By(fn() -> Value),
}

/// The listener that accepted the connection of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listener {
    /// `listen`
    Callers,
    /// `admin_listen`
    Admin,
    /// `hooks.listen`
    Hooks,
}

/// The other side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    /// The listener that accepted the connection.
    pub(super) listener: Listener,
    /// Its address. It is the one of a proxy if the caller is behind one.
    pub(super) address: IpAddr,
    /// `true` if the connection is one of the reserve, beyond `max_connections`. It is for operators,
    /// who look what the other connections do.
    pub(super) is_of_reserve: bool,
}

/// Routes that belong together in metrics, log lines and the API's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
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
    pub(super) fn label(self) -> Option<&'static str> {
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
    pub(super) fn calls_connector(self) -> bool {
        matches!(self, Self::Operations | Self::Proxy | Self::Integrations | Self::Mcp)
    }
}

/// The segments of a path that a route's pattern names. A name that the pattern does not have is
/// empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PathArguments<'a> {
    pub(super) connector: &'a str,
    pub(super) operation: &'a str,
    pub(super) job_id: &'a str,
    pub(super) secret_id: &'a str,
    pub(super) key_id: &'a str,
    pub(super) webhook_id: &'a str,
    /// As it is in the path: percent-encoded.
    pub(super) request_id: &'a str,
    pub(super) upstream: &'a str,
    pub(super) link_id: &'a str,
    /// The secret part of an inbox's address.
    pub(super) address: &'a str,
    pub(super) trigger_id: &'a str,
    pub(super) event_id: &'a str,
    pub(super) inbox_id: &'a str,
    pub(super) inbox_secret_id: &'a str,
    /// The name of a tool set.
    pub(super) set: &'a str,
    /// The id of an agent session.
    pub(super) session_id: &'a str,
    /// The secret part of a link.
    pub(super) token: &'a str,
    pub(super) oauth_client: &'a str,
    pub(super) authorization_id: &'a str,
    /// A file of the console.
    pub(super) file: &'a str,
    /// As it is in the path: percent-encoded.
    pub(super) tenant: &'a str,
    pub(super) integration_id: &'a str,
    /// As it is in the path: percent-encoded.
    pub(super) user_identifier: &'a str,
}

/// A call as a handler gets it.
pub(super) struct HttpCall<'a> {
    pub(super) gateway: &'a Arc<Gateway>,
    /// The listener that accepted the connection.
    pub(super) listener: Listener,
    /// The address of the caller, behind proxies that the operator trusts.
    pub(super) caller_address: IpAddr,
    pub(super) head: Parts,
    pub(super) body: &'a mut RequestBody,
    pub(super) arguments: PathArguments<'a>,
    /// The id of the request.
    pub(super) request_id: &'a str,
    /// When the head of the request had arrived. Deadlines are counted from here.
    pub(super) arrived: Instant,
    /// The span of the call.
    pub(super) trace: &'a Trace,
    /// The notes for the record of the call.
    pub(super) recording: &'a Recording,
    /// The table of routes, for the API's description.
    pub(super) routes: &'static [&'static [Route]],
}

impl Endpoint {
    /// An endpoint that reads. It takes HEAD requests too.
    pub(super) const fn get(handler: Handler) -> Self {
        let mut endpoint = Self::new(Method::GET, handler);
        endpoint.takes_head = true;
        endpoint
    }

    pub(super) const fn post(handler: Handler) -> Self {
        Self::new(Method::POST, handler)
    }

    pub(super) const fn put(handler: Handler) -> Self {
        Self::new(Method::PUT, handler)
    }

    pub(super) const fn patch(handler: Handler) -> Self {
        Self::new(Method::PATCH, handler)
    }

    pub(super) const fn delete(handler: Handler) -> Self {
        Self::new(Method::DELETE, handler)
    }

    const fn new(method: Method, handler: Handler) -> Self {
        Self { method, takes_head: false, query: Query::None, handler, description: None }
    }

    /// For reads that change something.
    pub(super) const fn without_head(mut self) -> Self {
        self.takes_head = false;
        self
    }

    /// Sets the query that it takes. Without this, it takes none.
    pub(super) const fn query(mut self, query: Query) -> Self {
        self.query = query;
        self
    }

    /// Lets it take the place of a page, in a list without filters.
    pub(super) const fn page(self) -> Self {
        self.query(Query::Page(SIZES, Vec::new))
    }

    /// Lets it take the place of a page and the filters of a list.
    pub(super) const fn list<L: List>(self) -> Self {
        self.query(Query::Page(L::SIZES, parameters::<L>))
    }

    /// Adds its entry in the API's description.
    pub(super) const fn described(mut self, id: &'static str, summary: &'static str, members: Members) -> Self {
        self.description = Some(Description { id, summary, members });
        self
    }
}

impl Route {
    /// Returns `true` if the route is for the operator, so that it moves to `admin_listen` if that
    /// is set.
    pub(super) fn is_for_operators(&self) -> bool {
        let is_operator = |endpoint: &Endpoint| matches!(endpoint.handler, Handler::Operator(_));
        self.family == Family::Admin || self.methods.iter().any(is_operator)
    }

    /// Returns `true` if the route is served at this listener. `has_admin_listener` says that
    /// `admin_listen` is set.
    pub(super) fn is_served_by(&self, listener: Listener, has_admin_listener: bool) -> bool {
        match listener {
            Listener::Callers => !(has_admin_listener && self.is_for_operators()),
            Listener::Hooks => self.family == Family::Hooks,
            // The list of connectors is for both.
            Listener::Admin => self.is_for_operators() || matches!(self.family, Family::System | Family::Connectors),
        }
    }

    /// The value of the header `Allow`.
    pub(super) fn allowed(&self) -> String {
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
    pub(super) fn endpoint(&self, method: &Method) -> Option<&Endpoint> {
        self.methods.iter().find(|endpoint| {
            endpoint.method == *method
                || *method == Method::HEAD && endpoint.method == Method::GET && endpoint.takes_head
        })
    }
}

impl<'a> PathArguments<'a> {
    /// The field for a name in braces, or `None` if no handler knows the name.
    pub(super) fn field(&mut self, name: &str) -> Option<&mut &'a str> {
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
