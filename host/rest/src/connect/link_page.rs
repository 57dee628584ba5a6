//! The page of a link: the connectors, and a form for each way to connect an account.

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderValue, REFERRER_POLICY};
use hyper::{Response, StatusCode};

use super::page::{POLICY, html_response};
use super::words::Words;
use body::Body;
use config::{Config, Logo};
use contract::{AddressPart, AuthScheme, Effect};
use integrations::{CredentialField, CredentialsForm, FieldKind, Way};
use registry::Connector;

/// The names of the fields of a form that have parts of the account's address begin with this.
pub(super) const ADDRESS_FIELD: &str = "address.";

/// The page of a link.
#[derive(Template)]
#[template(path = "connect.html")]
pub(super) struct ConnectPage {
    words: &'static Words,
    application: Application,
    /// The connectors that are offered.
    rows: Vec<ConnectorRow>,
    /// The text of the button that ends the visit. `None` if the user has done nothing that could
    /// end.
    ending: Option<&'static str>,
}

impl ConnectPage {
    /// The page of an application with these connectors. Those that the operator has not set up are
    /// not offered.
    pub(super) fn new(words: &'static Words, application: &config::Application, mut rows: Vec<ConnectorRow>) -> Self {
        rows.retain(|row| !matches!(row.state, State::NotConfigured));
        let has_connected = rows.iter().any(|row| matches!(row.state, State::Connected(_)));
        let ending = match rows.iter().all(ConnectorRow::is_settled) {
            true => Some(words.done),
            false => has_connected.then_some(words.finish),
        };
        Self { words, application: application.into(), rows, ending }
    }
}

/// The application that asks, as the operator describes it.
#[derive(Default)]
struct Application {
    name: Option<String>,
    /// The URL of its logo, which has the image.
    logo: Option<String>,
}

impl From<&config::Application> for Application {
    fn from(config::Application { name, logo }: &config::Application) -> Self {
        let url = |logo: &Logo| format!("data:{};base64,{}", logo.media_type, STANDARD.encode(&logo.image));
        Self { name: name.clone(), logo: logo.as_ref().map(url) }
    }
}

/// A connector on the page.
pub(super) struct ConnectorRow {
    connector: String,
    title: String,
    /// The text of the button that connects an account.
    button: String,
    /// An SVG image in base64.
    icon: Option<String>,
    /// The permission of the application, in one line.
    summary: String,
    /// A heading for each effect, and the operations that have it. Manifests are in English, and
    /// the page marks their texts so.
    access: Vec<(&'static str, Vec<String>)>,
    pub(super) state: State,
    /// Why the account was not connected.
    mistake: Option<&'static str>,
}

/// An attempt to connect an account that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    /// The connector, as the address of the page names it.
    pub(super) connector: String,
    /// The text about it.
    pub(super) text: &'static str,
    /// The name of the way in which the user tried it, whose form stays open. `None` if the browser
    /// comes back from a provider.
    pub(super) way: Option<String>,
}

/// The state of a connector on the page.
pub(super) enum State {
    /// It needs no account.
    Ready,
    /// An account was connected, under this name.
    Connected(String),
    /// The connector is not there now.
    Missing,
    /// The operator has not set up what an account needs.
    NotConfigured,
    /// An account can be connected, in each of these ways.
    Open(Vec<WayForm>),
}

/// The form of one way to connect an account.
pub(super) struct WayForm {
    /// The name of the way, which the form sends.
    auth_type: &'static str,
    /// The text that tells the ways apart. `None` for the first way, which most users take: the other
    /// forms are closed until the user opens them.
    heading: Option<&'static str>,
    /// `true` if the user has tried this way, so that its form is open.
    was_tried: bool,
    fields: Vec<Field>,
}

/// A field of the form for an account.
pub(super) struct Field {
    name: String,
    label: String,
    /// `true` if the label is from the manifest. The page marks it as English.
    is_of_manifest: bool,
    kind: FieldKind,
    is_required: bool,
}

impl ConnectorRow {
    /// Returns `true` if nothing is left to do.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, State::Ready | State::Connected(_))
    }

    /// A connector that is live. `application` is the name of the one that asks, and `account` the
    /// name of the account that was connected. Else an account can be connected if the operator has
    /// set the connector up.
    pub(super) fn live(
        words: &'static Words,
        connector: &Connector,
        config: &Config,
        application: Option<&str>,
        account: Option<&str>,
        is_set_up: bool,
        mistake: Option<&Mistake>,
    ) -> Self {
        let manifest = connector.manifest();
        let tried = mistake.and_then(|mistake| mistake.way.as_deref());
        let state = match (account, &manifest.auth) {
            (Some(name), _) => State::Connected(name.to_owned()),
            (None, AuthScheme::None) => State::Ready,
            (None, _) if !is_set_up => State::NotConfigured,
            (None, AuthScheme::Oauth2(_) | AuthScheme::ApiKey(_)) => {
                State::Open(forms(words, connector, config, tried))
            }
        };
        let mut access = Vec::new();
        let mut verbs = Vec::new();
        for effect in [Effect::Read, Effect::Write, Effect::Destructive] {
            let operations: Vec<_> = connector
                .operations()
                .filter(|operation| operation.manifest.effect == effect)
                .map(|operation| operation.manifest.summary.clone())
                .collect();
            if !operations.is_empty() {
                let [heading, verb] = words.of_effect(effect);
                access.push((heading, operations));
                verbs.push(verb);
            }
        }
        // A connector that is not set up says so itself.
        let mistake = mistake.filter(|_| is_set_up).map(|mistake| mistake.text);
        let title = title_for_users(&manifest.title);
        Self {
            connector: connector.name().to_string(),
            button: words.to_connect(&title),
            title,
            icon: manifest.imprint.icon.as_ref().map(|icon| STANDARD.encode(icon)),
            summary: words.permission(application, &verbs),
            access,
            state,
            mistake,
        }
    }

    /// A connector that is not there now.
    pub(super) fn missing(connector: &str, account: Option<&str>) -> Self {
        Self {
            connector: connector.to_owned(),
            title: connector.to_owned(),
            button: String::new(),
            icon: None,
            summary: String::new(),
            access: Vec::new(),
            state: account.map_or(State::Missing, |name| State::Connected(name.to_owned())),
            mistake: None,
        }
    }
}

/// The title of a connector without what is for developers: the API that it calls, in parentheses.
/// The text after them stays: two connectors may have titles that differ there alone.
fn title_for_users(title: &str) -> String {
    match title.split_once(" (") {
        Some((name, rest)) if !name.trim().is_empty() => {
            let after = rest.rsplit_once(')').map_or("", |(_, after)| after);
            format!("{name}{after}")
        }
        _ => title.to_owned(),
    }
}

/// A form for each way to connect an account. `tried` is the name of the way that has failed.
fn forms(words: &'static Words, connector: &Connector, config: &Config, tried: Option<&str>) -> Vec<WayForm> {
    let form = |(index, way): (usize, Way<'_>)| {
        let address = address_fields(connector.address_parts());
        let credentials = way.form(connector).map(|form| credential_fields(words, &form));
        WayForm {
            auth_type: way.name(),
            heading: (index > 0).then(|| words.heading(way.name())),
            was_tried: tried == Some(way.name()),
            fields: address.chain(credentials.into_iter().flatten()).collect(),
        }
    };
    Way::of(connector, config).into_iter().enumerate().map(form).collect()
}

/// A field for each part of the account's address that the user gives.
fn address_fields(parts: &[AddressPart]) -> impl Iterator<Item = Field> {
    let parts = parts.iter().filter(|part| part.is_from_user());
    parts.map(|part| Field {
        name: format!("{ADDRESS_FIELD}{}", part.name),
        label: part.title.clone(),
        is_of_manifest: true,
        kind: FieldKind::Text,
        is_required: true,
    })
}

/// The fields of credentials, with the names that `auth-schema` has.
fn credential_fields(words: &Words, form: &CredentialsForm) -> Vec<Field> {
    let field = |CredentialField { name, kind, is_required }| Field {
        name: name.to_owned(),
        label: words.label(name).to_owned(),
        is_of_manifest: false,
        kind,
        is_required,
    };
    form.fields().map(field).collect()
}

/// The page of a link as a response. `form_origins` are the origins that its forms lead to, besides
/// the gateway's own.
pub(super) fn connect_page(status: StatusCode, page: &ConnectPage, form_origins: &[String]) -> Response<Body> {
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self' {}; frame-ancestors 'none'",
        form_origins.join(" ")
    );
    let policy = HeaderValue::try_from(policy).unwrap_or(POLICY);
    let mut response = html_response(status, page.render(), policy);
    // With `no-referrer`, browsers send the form with `Origin: null`.
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use hyper::header::CONTENT_SECURITY_POLICY;
    use integrations::KeyForm;

    use super::super::words::ENGLISH;
    use super::*;

    #[tokio::test]
    async fn no_text_of_a_manifest_becomes_html_and_an_icon_is_an_image_that_runs_nothing() {
        let odd = "\"><script>alert(1)</script>";
        let row = ConnectorRow {
            connector: "mail".to_owned(),
            title: odd.to_owned(),
            button: odd.to_owned(),
            icon: Some(STANDARD.encode("<svg onload=\"alert(1)\"/>")),
            summary: odd.to_owned(),
            access: vec![("Read", vec![odd.to_owned()])],
            state: State::Open(vec![WayForm {
                auth_type: "api_key",
                heading: None,
                was_tried: false,
                fields: credential_fields(&ENGLISH, &KeyForm::Login.form()),
            }]),
            mistake: None,
        };
        let logo =
            Logo { path: "logo".into(), media_type: "image/svg+xml", image: b"<svg onload='alert(1)'/>".to_vec() };
        let application = config::Application { name: Some(odd.to_owned()), logo: Some(logo) };
        let page = ConnectPage::new(&ENGLISH, &application, vec![row]);
        let response = connect_page(StatusCode::OK, &page, &["https://provider.example".to_owned()]);
        let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.contains("form-action 'self' https://provider.example;") && !policy.contains("script"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let html = String::from_utf8_lossy(&body);
        assert!(!html.contains("<script") && !html.contains("onload"), "{html}");
        assert_eq!(html.matches("&#62;&#60;script&#62;alert(1)").count(), 5, "{html}");
        assert!(html.contains("src=\"data:image/svg+xml;base64,PHN2"), "{html}");
    }

    fn row(state: State) -> ConnectorRow {
        let connector = "mail".to_owned();
        ConnectorRow { state, ..ConnectorRow::missing(&connector, None) }
    }

    fn page(states: Vec<State>) -> ConnectPage {
        ConnectPage::new(&ENGLISH, &config::Application::default(), states.into_iter().map(row).collect())
    }

    #[test]
    fn a_visit_ends_with_a_button_only_after_something_was_done() {
        let connected = || State::Connected("ada".to_owned());
        assert_eq!(page(vec![State::Open(Vec::new()), State::Ready]).ending, None);
        assert_eq!(page(vec![State::Open(Vec::new()), connected()]).ending, Some(ENGLISH.finish));
        assert_eq!(page(vec![State::NotConfigured, connected()]).ending, Some(ENGLISH.done));
        assert_eq!(page(vec![State::Ready, connected()]).ending, Some(ENGLISH.done));
    }

    #[test]
    fn a_connector_that_is_not_set_up_is_not_offered() {
        assert_eq!(page(vec![State::NotConfigured, State::Ready, State::Missing]).rows.len(), 2);
        let html = page(vec![State::NotConfigured]).render().unwrap();
        assert!(html.contains(ENGLISH.nothing_offered) && !html.contains("<form"), "{html}");
    }

    #[test]
    fn a_further_way_that_was_tried_stays_open() {
        let html = |was_tried| {
            let form = WayForm { auth_type: "api_key", heading: Some("With a key"), was_tried, fields: Vec::new() };
            page(vec![State::Open(vec![form])]).render().unwrap()
        };
        assert!(html(true).contains("<details open>") && !html(false).contains("<details open>"));
    }

    #[test]
    fn labels_from_the_manifest_are_marked_as_english() {
        let part = Field {
            name: "address.site".to_owned(),
            label: "Site".to_owned(),
            is_of_manifest: true,
            kind: FieldKind::Text,
            is_required: true,
        };
        let login = credential_fields(&ENGLISH, &KeyForm::Login.form());
        let fields = login.into_iter().chain([part]).collect();
        let form = WayForm { auth_type: "api_key", heading: None, was_tried: false, fields };
        let html = page(vec![State::Open(vec![form])]).render().unwrap();
        assert!(html.contains("<label for=\"mail-api_key-username\">"), "{html}");
        assert!(html.contains("<label for=\"mail-api_key-address.site\" lang=\"en\">Site</label>"), "{html}");
    }

    /// Each form has the parts of the account's address.
    #[test]
    fn the_fields_of_two_ways_have_different_ids() {
        let part = || Field {
            name: "address.site".to_owned(),
            label: "Site".to_owned(),
            is_of_manifest: true,
            kind: FieldKind::Text,
            is_required: true,
        };
        let way = |auth_type, heading| WayForm { auth_type, heading, was_tried: false, fields: vec![part()] };
        let ways = vec![way("oauth2", None), way("oauth2_device_code", Some("With a code"))];
        let html = page(vec![State::Open(ways)]).render().unwrap();
        let mut ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{html}");
    }

    #[test]
    fn a_title_for_users_names_no_api() {
        for (title, shown) in [
            ("Notes (Cloud API v2)", "Notes"),
            ("Sites (REST), a variant", "Sites, a variant"),
            ("Files (Cloud API (v2))", "Files"),
            ("Tasks (beta", "Tasks"),
            ("Mail", "Mail"),
            (" (x)", " (x)"),
        ] {
            assert_eq!(title_for_users(title), shown);
        }
    }
}
