//! A stand-in for an OAuth provider, at a port of this machine. It consents to every request
//! immediately.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use connector_gateway::{Oauth, OauthClient};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use url::{Url, form_urlencoded};

use super::account::OwnCredential;
use contract::Oauth2;
use store::digest::sha256;

/// The account that every user connects.
const ACCOUNT: (&str, &str, &str) = ("dev-user", "dev@example.com", "Dev User");

/// The longest body of a request.
const MAX_BODY_BYTES: usize = 64 << 10;

/// The tokens that the stand-in gives.
pub(super) enum Grant {
    /// Tokens that the stand-in makes, with this lifetime.
    Made(Duration),
    /// The user's own access token.
    Real(OwnCredential),
}

/// The stand-in.
pub(super) struct Provider {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    address: SocketAddr,
    scheme: Oauth2,
    grant: Grant,
    secret: String,
    issued: Mutex<Issued>,
}

#[derive(Default)]
struct Issued {
    codes: HashMap<String, Code>,
    device_codes: HashSet<String>,
    refresh_tokens: Vec<String>,
    /// The digests of access tokens, with the instants at which the tokens expire.
    access_tokens: HashMap<[u8; 32], Option<Instant>>,
}

/// A code that was not exchanged yet.
struct Code {
    redirect_uri: String,
    challenge: Option<String>,
}

type Parameters = HashMap<String, String>;

impl Provider {
    /// Starts a stand-in for the provider of a scheme.
    pub(super) async fn start(scheme: Oauth2, grant: Grant) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { address, scheme, grant, secret: random()?, issued: Mutex::default() });
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let state = Arc::clone(&serving);
                let service = service_fn(move |request| {
                    let state = Arc::clone(&state);
                    async move { Ok::<_, Infallible>(state.respond(request).await) }
                });
                tokio::spawn(async move {
                    // A broken connection concerns its client only.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(connection), service)
                        .await;
                });
            }
        });
        Ok(Self { address, state })
    }

    /// The gateway's client registration.
    pub(super) fn client(&self) -> OauthClient {
        OauthClient { client_id: CLIENT_ID.to_owned(), client_secret: Some(self.state.secret.as_str().into()) }
    }

    /// The page that the user's browser ends at.
    pub(super) fn page(&self) -> String {
        format!("http://{}/connected", self.address)
    }

    /// The operator's settings that replace the connector's provider with this stand-in.
    pub(super) fn settings(&self) -> Oauth {
        let url = |path: &str| Url::parse(&format!("http://{}/{path}", self.address)).ok();
        Oauth {
            authorization_url: url("authorize"),
            token_url: url("token"),
            device_authorization_url: url("device"),
            revocation_url: self.state.scheme.revocation.as_ref().and_then(|_| url("revoke")),
            userinfo_url: url("userinfo"),
            ..Oauth::default()
        }
    }
}

/// The grant type of a device code (RFC 8628).
const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The id of the only client.
const CLIENT_ID: &str = "connectors-dev";

impl State {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let query = parameters(head.uri.query().unwrap_or_default().as_bytes());
        let form = match Limited::new(body, MAX_BODY_BYTES).collect().await {
            Ok(body) => parameters(&body.to_bytes()),
            Err(_) => Parameters::default(),
        };
        match (head.method.as_str(), head.uri.path()) {
            ("GET", "/authorize") => self.authorize(&query),
            ("POST", "/token") => match self.exchange(&head.headers, &form) {
                Ok(tokens) => json_response(StatusCode::OK, &tokens),
                Err(error) => json_response(StatusCode::BAD_REQUEST, &json!({"error": error})),
            },
            ("POST", "/device") => match self.device_codes(&head.headers, &form) {
                Ok(codes) => json_response(StatusCode::OK, &codes),
                Err(error) => json_response(StatusCode::BAD_REQUEST, &json!({"error": error})),
            },
            ("GET", "/device") => Response::new(Full::from("The stand-in has accepted the code already.\n")),
            ("GET" | "POST", "/userinfo") => self.userinfo(&head.headers),
            // The query of the gateway's redirect says if the account is connected.
            ("GET", "/connected") => Response::new(Full::from(head.uri.query().unwrap_or_default().to_owned() + "\n")),
            (_, "/revoke") => {
                self.revoke(&form);
                json_response(StatusCode::OK, &json!({}))
            }
            _ => json_response(StatusCode::NOT_FOUND, &json!({"error": "not_found"})),
        }
    }

    /// Sends the browser back with a code, or says what is wrong with the request.
    fn authorize(&self, query: &Parameters) -> Response<Full<Bytes>> {
        let parameter = |name: &str| query.get(name).cloned().unwrap_or_default();
        let wrong = |text: &str| {
            json_response(StatusCode::BAD_REQUEST, &json!({"error": "invalid_request", "error_description": text}))
        };
        if parameter("client_id") != CLIENT_ID || parameter("response_type") != "code" {
            return wrong("the client or the response type is unknown");
        }
        let Ok(mut back) = Url::parse(&parameter("redirect_uri")) else { return wrong("the redirect_uri is no URL") };
        let challenge = query.get("code_challenge").cloned();
        if challenge.is_some() && parameter("code_challenge_method") != "S256" {
            return wrong("the code_challenge_method is not S256");
        }
        if challenge.is_none() && self.scheme.pkce {
            return wrong("the code_challenge is missing");
        }
        let Ok(code) = random() else { return wrong("there are no random numbers") };
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &parameter("state"));
        self.issued.lock().codes.insert(code, Code { redirect_uri: parameter("redirect_uri"), challenge });
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::FOUND;
        if let Ok(location) = back.as_str().parse() {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }

    /// The codes of a device authorization (RFC 8628). The user has consented already.
    fn device_codes(&self, headers: &HeaderMap, form: &Parameters) -> Result<Value, &'static str> {
        if client(headers, form) != (CLIENT_ID.to_owned(), self.secret.clone()) {
            return Err("invalid_client");
        }
        let code = random().map_err(|_| "server_error")?;
        self.issued.lock().device_codes.insert(code.clone());
        let page = format!("http://{}/device", self.address);
        Ok(json!({
            "device_code": code, "user_code": "DEV-CODE", "verification_uri": page, "expires_in": 600, "interval": 1,
        }))
    }

    /// The tokens for a code or a refresh token, or an error code of RFC 6749.
    fn exchange(&self, headers: &HeaderMap, form: &Parameters) -> Result<Value, &'static str> {
        let parameter = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let client = client(headers, form);
        if parameter("grant_type") == "client_credentials" {
            // Accounts bring their own clients. Any client will do, so that the author can try one.
            let is_complete = !client.0.is_empty() && !client.1.is_empty();
            return if is_complete { self.access_token(&mut self.issued.lock()) } else { Err("invalid_client") };
        }
        if client != (CLIENT_ID.to_owned(), self.secret.clone()) {
            return Err("invalid_client");
        }
        let mut issued = self.issued.lock();
        match parameter("grant_type") {
            "authorization_code" => {
                // A code is used once, also if the exchange fails.
                let code = issued.codes.remove(parameter("code")).ok_or("invalid_grant")?;
                let verifier = ring::digest::digest(&ring::digest::SHA256, parameter("code_verifier").as_bytes());
                let is_verified = code.challenge.is_none_or(|challenge| challenge == URL_SAFE_NO_PAD.encode(verifier));
                if !is_verified || code.redirect_uri != parameter("redirect_uri") {
                    return Err("invalid_grant");
                }
            }
            DEVICE_CODE if issued.device_codes.remove(parameter("device_code")) => {}
            DEVICE_CODE => return Err("invalid_grant"),
            "refresh_token" => {
                let known = issued.refresh_tokens.iter().position(|token| token == parameter("refresh_token"));
                issued.refresh_tokens.swap_remove(known.ok_or("invalid_grant")?);
            }
            _ => return Err("unsupported_grant_type"),
        }
        self.tokens(&mut issued)
    }

    fn tokens(&self, issued: &mut Issued) -> Result<Value, &'static str> {
        let random = || random().map_err(|_| "server_error");
        let tokens = match &self.grant {
            Grant::Real(token) => {
                issued.access_tokens.insert(token.digest(), None);
                token.token_answer()
            }
            Grant::Made(lifetime) => {
                let (access, refresh) = (format!("dev-access-{}", random()?), format!("dev-refresh-{}", random()?));
                issued.access_tokens.insert(sha256(access.as_bytes()), Some(Instant::now() + *lifetime));
                issued.refresh_tokens.push(refresh.clone());
                json!({
                    "access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": lifetime.as_secs(),
                })
            }
        };
        Ok(at(&self.scheme.token_pointer, tokens))
    }

    /// Tokens without a refresh token.
    fn access_token(&self, issued: &mut Issued) -> Result<Value, &'static str> {
        let mut tokens = self.tokens(issued)?;
        let place = tokens.pointer_mut(&self.scheme.token_pointer).and_then(Value::as_object_mut);
        if let Some(Value::String(unused)) = place.and_then(|members| members.remove("refresh_token")) {
            issued.refresh_tokens.retain(|token| *token != unused);
        }
        Ok(tokens)
    }

    /// The account, with the member names of OpenID Connect and the names that the manifest reads.
    fn userinfo(&self, headers: &HeaderMap) -> Response<Full<Bytes>> {
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let token = token.split_once(' ').map(|(_, token)| token).unwrap_or_default();
        let end = self.issued.lock().access_tokens.get(&sha256(token.as_bytes())).copied();
        let is_valid = end.is_some_and(|end| end.is_none_or(|end| end > Instant::now()));
        if !is_valid {
            return json_response(StatusCode::UNAUTHORIZED, &json!({"error": "invalid_token"}));
        }
        let (id, email, name) = ACCOUNT;
        let mut account =
            json!({"sub": id, "id": id, "login": id, "email": email, "email_verified": true, "name": name});
        if let Some(identity) = &self.scheme.identity {
            let members = [(Some(&identity.id), id), (identity.email.as_ref(), email), (identity.name.as_ref(), name)];
            for (pointer, text) in members {
                if let Some(pointer) = pointer {
                    merge(&mut account, at(pointer, text.into()));
                }
            }
        }
        json_response(StatusCode::OK, &account)
    }

    fn revoke(&self, form: &Parameters) {
        let Some(token) = form.get("token") else { return };
        let mut issued = self.issued.lock();
        issued.refresh_tokens.retain(|known| known != token);
        issued.access_tokens.remove(&sha256(token.as_bytes()));
    }
}

/// The client's id and secret, by HTTP Basic or in the form.
fn client(headers: &HeaderMap, form: &Parameters) -> (String, String) {
    let basic =
        headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Basic ").map(str::to_owned));
    let decoded = basic.and_then(|text| String::from_utf8(STANDARD.decode(text).ok()?).ok());
    if let Some((id, secret)) = decoded.as_deref().and_then(|text| text.split_once(':')) {
        return (decode(id), decode(secret));
    }
    let parameter = |name: &str| form.get(name).cloned().unwrap_or_default();
    (parameter("client_id"), parameter("client_secret"))
}

/// Decodes the id or the secret. RFC 6749 encodes both before it joins them.
fn decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn parameters(text: &[u8]) -> Parameters {
    form_urlencoded::parse(text).into_owned().collect()
}

/// A document with a value at a JSON Pointer.
fn at(pointer: &str, value: Value) -> Value {
    pointer
        .rsplit('/')
        .filter(|name| !name.is_empty())
        .fold(value, |inner, name| Value::Object(Map::from_iter([(name.replace("~1", "/").replace("~0", "~"), inner)])))
}

/// Adds the members of a document to another one.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn json_response(status: StatusCode, document: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(document.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    response
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 24];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the operating system gives no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_placed_at_its_pointer_next_to_others() {
        let mut document = json!({"user": {"id": 1}});
        merge(&mut document, at("/user/profile/mail", "a@b".into()));
        assert_eq!(document, json!({"user": {"id": 1, "profile": {"mail": "a@b"}}}));
        assert_eq!(at("", json!({"a": 1})), json!({"a": 1}));
    }
}
