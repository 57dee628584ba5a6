//! The page of a link: what a browser gets and sends.
//!
//! Opening the page changes nothing, because mail scanners and previews open links too. The first
//! browser that sends the form of the page has the link from then on.

use std::sync::Arc;

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN, SET_COOKIE};
use hyper::{Response, StatusCode};
use tokio::time::Instant;
use url::{Url, form_urlencoded};

use super::browser::Browser;
use super::form::Form;
use super::link_page::{ConnectPage, ConnectorRow, Mistake, connect_page};
use super::page::{self, DevicePage, device_page, message_in, redirect};
use super::words::{Message, Words};
use body::Body;
use calls::Connection;
use config::Config;
use endpoint::body::read_body;
use endpoint::recorded::ended;
use endpoint::route::HttpCall;
use gateway::Gateway;
use integrations::{Begun, ConnectRequest, StartedDevice, Way, authorization_origin, random_secret};
use problem::{Problem, address_problem, connect_problem};
use registry::Connector;
use store::digest::sha256;
use store::{Acting, ConnectLink, LinkEnd, acting};

/// The largest form in megabytes. A key file is at most some kilobytes.
const MAX_FORM_MB: usize = 1;

/// The way from the page to the root of the gateway.
const ROOT: &str = "../";

/// GET /connect/page.css.
pub async fn get_style(_: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    Ok(page::style())
}

/// GET /connect/{token}.
pub async fn open_page(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, arguments, .. } = call;
    let words = Words::for_browser(&head.headers);
    let link = match usable_link(gateway, words, arguments.token).await {
        Ok(link) => link,
        Err(response) => return Ok(response),
    };
    let browser = Browser::of_request(&head.headers, &link);
    if link.browser.is_some() && !browser.as_ref().is_some_and(|browser| browser.has(&link)) {
        return Ok(refusal(words, StatusCode::FORBIDDEN, words.other_browser));
    }
    let mistake = parse_mistake(words, head.uri.query().unwrap_or_default());
    let mut response = page_of(gateway, words, &link, mistake).await;
    // The cookie does not claim the link. If a button is pressed twice, the browser drops the answer
    // to the first form with its cookie, and the second form must not come from another browser.
    if browser.is_none()
        && let Ok(secret) = random_secret()
    {
        let cookie = Browser::new(secret, arguments.token).set_cookie(&link, &gateway.config);
        response.headers_mut().extend(cookie.map(|cookie| (SET_COOKIE, cookie)));
    }
    Ok(response)
}

/// POST /connect/{token}: a button of the page.
pub async fn send_form(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, arrived, request_id, .. } = call;
    let words = Words::for_browser(&head.headers);
    if !is_from_page(&head.headers, &gateway.config) {
        return Ok(refusal(words, StatusCode::FORBIDDEN, words.other_site));
    }
    let bytes =
        read_body(&head.headers, body, MAX_FORM_MB, "send the form of the page", gateway.egress.memory()).await?;
    let form = Form::parse(&bytes);
    let link = match usable_link(gateway, words, arguments.token).await {
        Ok(link) => link,
        Err(response) => return Ok(response),
    };
    let browser = match Browser::of_request(&head.headers, &link) {
        Some(browser) => browser,
        None => match random_secret() {
            Ok(secret) => Browser::new(secret, arguments.token),
            Err(_) => return Ok(unavailable(words)),
        },
    };
    match gateway.store.connect_links().claim(&link.id, &browser.hash()).await {
        Ok(true) => {}
        Ok(false) => return Ok(refusal(words, StatusCode::FORBIDDEN, words.other_browser)),
        Err(error) => {
            tracing::warn!(%error, "a link cannot be given to a browser");
            return Ok(unavailable(words));
        }
    }
    let cookie = browser.set_cookie(&link, &gateway.config);
    let by = Acting::user(&link.tenant, &link.subject);
    // If the browser closed the connection in the middle, an account could be left half connected.
    let visit = Visit { link, browser, words, request_id: request_id.to_owned(), arrived };
    let running = Arc::clone(gateway);
    let answering = acting(by, async move { visit.answer(&running, form).await });
    let mut response = gateway.integrations.spawn(answering).await.unwrap_or_else(|_| unavailable(words));
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The visit of the browser that has a link.
struct Visit {
    link: ConnectLink,
    browser: Browser,
    words: &'static Words,
    request_id: String,
    arrived: Instant,
}

impl Visit {
    async fn answer(&self, gateway: &Arc<Gateway>, form: Form) -> Response<Body> {
        if form.is_finish {
            return self.finish(gateway).await;
        }
        let named = form.connector.as_deref().filter(|named| self.link.connectors.iter().any(|known| known == named));
        let Some(connector) = named.and_then(|named| gateway.registry.get(named)) else {
            return self.back(gateway, None);
        };
        let ways = Way::of(&connector, &gateway.config);
        let way = match &form.auth_type {
            Some(named) => Way::find(&ways, named).ok(),
            None => ways.first().copied(),
        };
        match way {
            None => self.back(gateway, Some(Failure { connector: connector.name(), code: "key_refused", way: None })),
            // Its row has no button.
            Some(Way::NoSecret) => self.back(gateway, None),
            Some(way) => self.connect(gateway, &connector, way, &form).await,
        }
    }

    /// Connects an account, or shows the user the next step.
    async fn connect(
        &self,
        gateway: &Arc<Gateway>,
        connector: &Arc<Connector>,
        way: Way<'_>,
        form: &Form,
    ) -> Response<Body> {
        let failure = Failure { connector: connector.name(), code: "failed", way: Some(way.name()) };
        let holder = self.link.holder(connector.name());
        let request = match ConnectRequest::new(connector, holder, form.address_for(connector)) {
            Ok(request) => ConnectRequest {
                user_identifier: self.link.user_identifier.clone(),
                labels: self.link.labels.clone(),
                connect_link: Some(self.link.id.clone()),
                ..request
            },
            Err(refused) => {
                let failure = Failure { code: "address_refused", ..failure };
                return self.not_connected(gateway, connector, &address_problem(refused), failure);
            }
        };
        let credentials = form.credentials(way, connector);
        if matches!(way, Way::Credentials(_)) && !credentials.fit(way, connector) {
            return self.back(gateway, Some(Failure { code: "key_refused", ..failure }));
        }
        match credentials.begin(gateway, connector, way, &request, self.arrived).await {
            Ok(Begun::Page(started)) => see_other(self.words, &started.authorization_url),
            Ok(Begun::Code(started)) => self.show_code(gateway, &started),
            Ok(Begun::Done(_)) => self.back(gateway, None),
            Err(error) => {
                let problem = connect_problem(error, connector.name());
                tracing::info!(problem = problem.name(), "an account is not connected");
                let code = match problem.name() {
                    "validation" => "key_refused",
                    "integration-not-configured" => "not_configured",
                    _ => failure.code,
                };
                self.not_connected(gateway, connector, &problem, Failure { code, ..failure })
            }
        }
    }

    /// The page with a code that the user enters at the service, on this or another device.
    fn show_code(&self, gateway: &Gateway, started: &StartedDevice) -> Response<Body> {
        let codes = &started.codes;
        let url = codes.verification_uri_complete.as_ref().unwrap_or(&codes.verification_uri);
        // As browsers read it: a host in other letters, or a blank, is then seen as what it is.
        match (page_url(gateway, self.browser.token()), Url::parse(url)) {
            (Some(back), Ok(url)) => device_page(&DevicePage {
                words: self.words,
                user_code: &codes.user_code,
                url: url.as_str(),
                back: back.as_str(),
            }),
            _ => unavailable(self.words),
        }
    }

    /// Sends the browser back to the page, which says what failed, and records the problem.
    fn not_connected(
        &self,
        gateway: &Gateway,
        connector: &Connector,
        problem: &Problem,
        failure: Failure<'_>,
    ) -> Response<Body> {
        let response = self.back(gateway, Some(failure));
        let connection = Connection {
            request_id: &self.request_id,
            holder: &self.link.holder(connector.name()),
            key_id: self.link.key_id.as_ref(),
            began: self.arrived,
            status: Some(response.status().as_u16()),
        };
        gateway.calls.connection_failed(&connection, ended(problem));
        response
    }

    /// Sends the browser back to the page.
    fn back(&self, gateway: &Gateway, failure: Option<Failure<'_>>) -> Response<Body> {
        back_to_page(gateway, self.words, self.browser.token(), failure)
    }

    /// The user has finished.
    async fn finish(&self, gateway: &Gateway) -> Response<Body> {
        if let Err(error) = gateway.store.connect_links().end(&self.link.id, LinkEnd::Done).await {
            tracing::warn!(%error, "a link cannot be ended");
            return unavailable(self.words);
        }
        let url = self.link.callback_url.as_deref().and_then(|url| Url::parse(url).ok());
        let Some(mut url) = url else {
            return message_in(self.words, StatusCode::OK, self.words.finished, ROOT);
        };
        let status = match rows(gateway, self.words, &self.link, None).await.iter().all(ConnectorRow::is_settled) {
            true => "success",
            false => "incomplete",
        };
        url.query_pairs_mut().append_pair("status", status).append_pair("connect_link", &self.link.id);
        see_other(self.words, &url)
    }
}

/// Why an account was not connected, as the address of the page says it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure<'a> {
    pub(super) connector: &'a str,
    pub(super) code: &'a str,
    /// See [`Mistake::way`].
    pub(super) way: Option<&'a str>,
}

/// Sends a browser to the page of its link.
pub(super) fn back_to_page(
    gateway: &Gateway,
    words: &'static Words,
    token: &str,
    failure: Option<Failure<'_>>,
) -> Response<Body> {
    let Some(mut url) = page_url(gateway, token) else { return unavailable(words) };
    if let Some(Failure { connector, code, way }) = failure {
        let mut query = url.query_pairs_mut();
        query.append_pair("connector", connector).append_pair("error", code);
        if let Some(way) = way {
            query.append_pair("way", way);
        }
    }
    see_other(words, &url)
}

/// The URL of the page of a link.
fn page_url(gateway: &Gateway, token: &str) -> Option<Url> {
    let root = gateway.config.public_url.as_str().trim_end_matches('/');
    Url::parse(&format!("{root}/connect/{token}")).ok()
}

fn see_other(words: &'static Words, url: &Url) -> Response<Body> {
    match HeaderValue::try_from(url.as_str()) {
        Ok(location) => redirect(StatusCode::SEE_OTHER, location),
        Err(_) => unavailable(words),
    }
}

/// The link of a token, if it can be used.
///
/// # Errors
/// The page that says why it cannot.
async fn usable_link(gateway: &Gateway, words: &'static Words, token: &str) -> Result<ConnectLink, Response<Body>> {
    let found = gateway.store.connect_links().by_hash(&sha256(token.as_bytes())).await.map_err(|error| {
        tracing::warn!(%error, "a link cannot be read");
        unavailable(words)
    })?;
    let Some(link) = found else { return Err(refusal(words, StatusCode::NOT_FOUND, words.unknown)) };
    match link.end {
        Some(LinkEnd::Done) => Err(refusal(words, StatusCode::GONE, words.finished)),
        Some(LinkEnd::Deleted) => Err(refusal(words, StatusCode::GONE, words.ended)),
        None if link.has_expired => Err(refusal(words, StatusCode::GONE, words.ended)),
        None => Ok(link),
    }
}

/// Returns `true` unless the browser says that another site has sent the form.
fn is_from_page(headers: &HeaderMap, config: &Config) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let Some(origin) = origin.to_str().ok().and_then(|origin| Url::parse(origin).ok()) else { return false };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    origin.origin() == config.public_url.origin() || origin.authority() == host
}

/// The failure in the query, after an account was not connected. It only chooses among texts and
/// forms of the gateway.
fn parse_mistake(words: &Words, query: &str) -> Option<Mistake> {
    let (mut connector, mut text, mut way) = (None, None, None);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "connector" => connector = Some(value.into_owned()),
            "error" => text = Some(words.of_failure(&value)),
            "way" => way = Some(value.into_owned()),
            _ => {}
        }
    }
    Some(Mistake { connector: connector?, text: text?, way })
}

async fn page_of(
    gateway: &Gateway,
    words: &'static Words,
    link: &ConnectLink,
    mistake: Option<Mistake>,
) -> Response<Body> {
    let application = gateway.config.connect.application_of(&link.tenant);
    let page = ConnectPage::new(words, application, rows(gateway, words, link, mistake).await);
    connect_page(StatusCode::OK, &page, &form_origins(gateway, link))
}

async fn rows(
    gateway: &Gateway,
    words: &'static Words,
    link: &ConnectLink,
    mistake: Option<Mistake>,
) -> Vec<ConnectorRow> {
    let application = gateway.config.connect.application_of(&link.tenant).name.as_deref();
    let mut rows = Vec::new();
    for connector in &link.connectors {
        let mistake = mistake.as_ref().filter(|mistake| mistake.connector == *connector);
        let account = link.account(connector);
        rows.push(match gateway.registry.get(connector) {
            Some(live) => {
                let is_set_up = account.is_some() || is_set_up(gateway, link, &live).await;
                ConnectorRow::live(words, &live, &gateway.config, application, account, is_set_up, mistake)
            }
            None => ConnectorRow::missing(connector, account),
        });
    }
    rows
}

/// Returns `true` if the user of a link can connect an account.
async fn is_set_up(gateway: &Gateway, link: &ConnectLink, connector: &Connector) -> bool {
    match gateway.integrations.missing_setup(&link.tenant, connector).await {
        Ok(missing) => missing.is_none(),
        // The form says what fails, if the store still fails then.
        Err(error) => {
            error.log("the page of a link cannot show if a connector is set up");
            true
        }
    }
}

/// The origins that the forms of a page lead to by redirects: the providers, the gateway by its
/// public URL, and the application.
fn form_origins(gateway: &Gateway, link: &ConnectLink) -> Vec<String> {
    let live = link.connectors.iter().filter_map(|connector| gateway.registry.get(connector));
    let providers = live.filter_map(|connector| authorization_origin(&connector, &gateway.config));
    let application = link.callback_url.as_deref().and_then(|url| Url::parse(url).ok()).map(|url| url.origin());
    let mut origins: Vec<_> = [gateway.config.public_url.origin()]
        .into_iter()
        .chain(application)
        .map(|origin| origin.ascii_serialization())
        .chain(providers)
        .collect();
    origins.sort();
    origins.dedup();
    origins
}

fn refusal(words: &'static Words, status: StatusCode, message: Message) -> Response<Body> {
    message_in(words, status, message, ROOT)
}

fn unavailable(words: &'static Words) -> Response<Body> {
    refusal(words, StatusCode::SERVICE_UNAVAILABLE, words.unavailable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::words::ENGLISH;

    fn sent(pairs: &[(&'static str, &str)]) -> bool {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (hyper::header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        let config = Config { public_url: Url::parse("https://gateway.example/base/").unwrap(), ..Config::default() };
        is_from_page(&HeaderMap::from_iter(pairs), &config)
    }

    #[test]
    fn a_form_of_another_site_is_refused() {
        assert!(sent(&[]) && sent(&[("sec-fetch-site", "same-origin")]) && sent(&[("sec-fetch-site", "none")]));
        assert!(sent(&[("origin", "https://gateway.example")]));
        assert!(sent(&[("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")]));
        assert!(!sent(&[("origin", "https://evil.example"), ("host", "gateway.example")]));
        assert!(!sent(&[("origin", "null")]));
        assert!(!sent(&[("sec-fetch-site", "cross-site"), ("origin", "https://gateway.example")]));
        assert!(!sent(&[("sec-fetch-site", "same-site")]));
    }

    #[test]
    fn a_query_chooses_among_texts_of_the_gateway() {
        let parsed = parse_mistake(&ENGLISH, "connector=<b>&error=<script>&way=<i>").unwrap();
        let failed = Mistake { connector: "<b>".to_owned(), text: ENGLISH.failed, way: Some("<i>".to_owned()) };
        assert_eq!(parsed, failed);
        let parsed = parse_mistake(&ENGLISH, "error=access_denied&connector=a").unwrap();
        assert_eq!((parsed.text, parsed.way), (ENGLISH.refused_by_user, None));
        assert_eq!(parse_mistake(&ENGLISH, "error=access_denied"), None);
    }
}
