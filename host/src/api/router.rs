//! From a request to the part of the API that answers it.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Response};

use super::problem::{self, Problem};
use super::{admin, connectors, integrations, operations, system};
use crate::gateway::Gateway;
use crate::metrics::RequestLabels;
use crate::pipeline::body::Body;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What a path leads to.
#[derive(Clone, Copy)]
enum Route<'a> {
    Operation {
        connector: &'a str,
        operation: &'a str,
    },
    /// Of a connector: an account is connected.
    Begin {
        connector: &'a str,
    },
    /// One integration; its identifier as it stands in the path.
    Integration {
        connector: &'a str,
        user_identifier: &'a str,
    },
    Exists {
        connector: &'a str,
    },
    AuthSchema {
        connector: &'a str,
    },
    Callback {
        connector: &'a str,
    },
    /// Over all connectors.
    Integrations,
    Connectors,
    Install,
    Installed {
        connector: &'a str,
    },
    Rollback {
        connector: &'a str,
    },
    Health,
    Ready,
    Metrics,
    OpenApi,
}

/// Finds the route of a path, whatever the method.
fn route(path: &str) -> Option<Route<'_>> {
    let mut segments = path.strip_prefix('/')?.split('/');
    let first = (segments.next()?, segments.next(), segments.next(), segments.next(), segments.next());
    Some(match first {
        ("connectors", Some(connector), Some(name), None, None) => match name {
            "integrations" => Route::Begin { connector },
            "integration-exists" => Route::Exists { connector },
            "auth-schema" => Route::AuthSchema { connector },
            "success-authorize-callback" => Route::Callback { connector },
            operation => Route::Operation { connector, operation },
        },
        ("connectors", Some(connector), Some("integrations"), Some(user_identifier), None)
            if !user_identifier.is_empty() =>
        {
            Route::Integration { connector, user_identifier }
        }
        ("integrations", None, None, None, None) => Route::Integrations,
        ("connectors", None, None, None, None) => Route::Connectors,
        ("admin", Some("connectors"), None, None, None) => Route::Install,
        ("admin", Some("connectors"), Some(connector), None, None) => Route::Installed { connector },
        ("admin", Some("connectors"), Some(connector), Some("rollback"), None) => Route::Rollback { connector },
        ("healthz", None, None, None, None) => Route::Health,
        ("readyz", None, None, None, None) => Route::Ready,
        ("metrics", None, None, None, None) => Route::Metrics,
        ("openapi.json", None, None, None, None) => Route::OpenApi,
        _ => return None,
    })
}

impl Route<'_> {
    /// The methods it takes, for the header `Allow`.
    fn methods(self) -> &'static str {
        match self {
            Self::Operation { .. } | Self::Begin { .. } | Self::Install | Self::Rollback { .. } => "POST",
            Self::Integration { .. } => "GET, HEAD, POST, DELETE",
            Self::Installed { .. } => "DELETE",
            // A program that looks ahead with HEAD must not use the state up.
            Self::Callback { .. } => "GET",
            Self::Exists { .. } | Self::AuthSchema { .. } | Self::Integrations => "GET, HEAD",
            Self::Connectors | Self::Health | Self::Ready | Self::Metrics | Self::OpenApi => "GET, HEAD",
        }
    }

    fn takes(self, method: &Method) -> bool {
        self.methods().split(", ").any(|allowed| allowed == method.as_str())
    }

    /// Connector and operation, for the metrics. Names that callers made up are left out: they would grow without bound.
    fn labels(self, gateway: &Gateway) -> (String, String) {
        match self {
            Self::Operation { connector, operation } => match gateway.registry.get(connector) {
                Some(live) => {
                    let known = live.operation(operation).is_some();
                    (connector.to_owned(), if known { operation.to_owned() } else { String::new() })
                }
                None => (String::new(), String::new()),
            },
            Self::Begin { connector }
            | Self::Integration { connector, .. }
            | Self::Exists { connector }
            | Self::AuthSchema { connector }
            | Self::Callback { connector } => {
                let live = gateway.registry.get(connector).is_some();
                (if live { connector.to_owned() } else { String::new() }, "integrations".to_owned())
            }
            Self::Integrations => (String::new(), "integrations".to_owned()),
            Self::Connectors => (String::new(), "connectors".to_owned()),
            Self::Install | Self::Installed { .. } | Self::Rollback { .. } => (String::new(), "admin".to_owned()),
            Self::Health | Self::Ready | Self::Metrics | Self::OpenApi => (String::new(), "system".to_owned()),
        }
    }
}

/// Answers a request, whatever it is.
pub(super) async fn answer(gateway: &Arc<Gateway>, request: Request<Incoming>) -> Response<Body> {
    let started = Instant::now();
    let request_id = gateway.request_id(request.headers().get(&REQUEST_ID));
    let method = request.method().clone();
    let uri = request.uri().clone();
    let route = route(uri.path());
    let result = match route {
        None => Err(problem::NOT_FOUND.because(
            "There is nothing at this path. Operations are at POST /connectors/{connector}/{operation}; GET /openapi.json lists all paths.",
        )),
        Some(route) if !route.takes(&method) => Err(problem::METHOD_NOT_ALLOWED
            .because(format!("This path takes {}, not {method}.", route.methods()))
            .allow(route.methods())),
        Some(route) => dispatch(gateway, route, request, &request_id).await,
    };
    let operation_succeeded = matches!((route, &result), (Some(Route::Operation { .. }), Ok(_)));
    let (mut response, problem) = match result {
        Ok(response) => (response, None),
        Err(problem) => {
            let name = problem.name();
            let detail = problem.detail().to_owned();
            (problem.into_response(&request_id), Some((name, detail)))
        }
    };
    // A successful operation has counted itself, with instruments at hand.
    if !operation_succeeded {
        let (connector, operation) = route.map(|route| route.labels(gateway)).unwrap_or_default();
        let status = response.status().as_u16();
        gateway.metrics.requests.get_or_create_owned(&RequestLabels { connector, operation, status }).inc();
    }
    log(&request_id, &method, route, &response, problem, started);
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// What is large stands in a box: hyper moves the future of a request, whatever the request is.
async fn dispatch(
    gateway: &Arc<Gateway>,
    route: Route<'_>,
    request: Request<Incoming>,
    request_id: &Arc<str>,
) -> Result<Response<Body>, Problem> {
    match route {
        Route::Operation { connector, operation } => {
            Box::pin(operations::invoke(gateway, connector, operation, request, request_id)).await
        }
        Route::Begin { connector } => Box::pin(integrations::begin(gateway, connector, request, request_id)).await,
        Route::Integration { connector, user_identifier } => match *request.method() {
            Method::POST => integrations::select(gateway, connector, user_identifier, &request).await,
            Method::DELETE => integrations::remove(gateway, connector, user_identifier, &request).await,
            _ => integrations::get(gateway, connector, user_identifier, &request).await,
        },
        Route::Exists { connector } => integrations::exists(gateway, connector, &request).await,
        Route::AuthSchema { connector } => integrations::auth_schema(gateway, connector, &request).await,
        Route::Callback { connector } => Ok(integrations::callback(gateway, connector, &request, request_id).await),
        Route::Integrations => integrations::list(gateway, &request).await,
        Route::Connectors => connectors::list(gateway, &request).await,
        Route::Install => Box::pin(admin::install(gateway, request)).await,
        Route::Installed { connector } => admin::remove(gateway, connector, &request).await,
        Route::Rollback { connector } => Box::pin(admin::rollback(gateway, connector, &request)).await,
        Route::Health => Ok(system::health()),
        Route::Ready => system::ready(gateway),
        Route::Metrics => system::metrics(gateway),
        Route::OpenApi => Ok(system::openapi(gateway)),
    }
}

/// One line a request: what failed at a level that is seen, what succeeded for those who look.
fn log(
    request_id: &str,
    method: &Method,
    route: Option<Route<'_>>,
    response: &Response<Body>,
    problem: Option<(&'static str, String)>,
    started: Instant,
) {
    let status = response.status().as_u16();
    let (connector, operation) = match route {
        Some(Route::Operation { connector, operation }) => (connector, operation),
        Some(
            Route::Begin { connector }
            | Route::Integration { connector, .. }
            | Route::Exists { connector }
            | Route::AuthSchema { connector }
            | Route::Callback { connector },
        ) => (connector, "integrations"),
        _ => ("", ""),
    };
    let ms = started.elapsed().as_micros() as f64 / 1000.0;
    match problem {
        None => tracing::debug!(request_id, %method, connector, operation, status, ms, "answered"),
        Some((problem, detail)) if status >= 500 => {
            tracing::warn!(request_id, %method, connector, operation, status, ms, problem, detail, "failed");
        }
        Some((problem, detail)) => {
            tracing::info!(request_id, %method, connector, operation, status, ms, problem, detail, "refused");
        }
    }
}
