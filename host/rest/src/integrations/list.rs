//! GET /integrations: the accounts that the caller's user has connected, in pages.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::records::IntegrationPageRecord;
use endpoint::route::HttpCall;
use integrations::IntegrationRecord;
use problem::{Problem, integration_problem, read_query};
use store::{Integration, IntegrationFilter, Status};

/// Integrations in a page, if the caller does not say how many.
const DEFAULT_LIMIT: u32 = 100;

/// Maximum number of integrations in a page.
const MAX_LIMIT: u32 = 1000;

/// The parameters of the list. The last one stands for those that begin with it.
const PARAMETERS: [&str; 5] = ["limit", "cursor", "connector", "status", "label."];

/// Answers with a page.
pub async fn list_integrations(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let filter = parse_query(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit as usize;
    // One more than the requested number shows whether there is another page.
    let filter = IntegrationFilter { limit: filter.limit + 1, ..filter };
    let found = call.gateway.integrations.list_of_user(caller.tenant(), caller.subject(), filter).await;
    let mut found = found.map_err(|error| integration_problem(&error))?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next_cursor = found.last().filter(|_| has_more).map(cursor_after);
    let now = clock::now();
    let integrations = found.iter().map(|integration| IntegrationRecord::at(integration, now)).collect();
    Ok(private_answer(&json!(IntegrationPageRecord { integrations, next_cursor })))
}

/// The place in the order of the list: connector and user identifier.
fn cursor_after(integration: &Integration) -> String {
    URL_SAFE_NO_PAD.encode(json!([integration.holder.connector, integration.user_identifier]).to_string())
}

fn parse_cursor(cursor: &str) -> Option<(String, String)> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

/// Reads the query.
fn parse_query(query: &str) -> Result<IntegrationFilter, Problem> {
    let mut filter = IntegrationFilter { limit: DEFAULT_LIMIT, ..IntegrationFilter::default() };
    read_query(query, &PARAMETERS, |name, value| set_parameter(&mut filter, name, value))?;
    Ok(filter)
}

fn set_parameter(filter: &mut IntegrationFilter, name: &str, value: &str) -> Result<(), String> {
    match name {
        "limit" => {
            let limit = value.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
            filter.limit = limit.ok_or_else(|| format!("Must be a whole number from 1 to {MAX_LIMIT}."))?;
        }
        "cursor" => {
            filter.after = Some(parse_cursor(value).ok_or("Must be the `next_cursor` of the previous page.")?);
        }
        "connector" => filter.connector = Some(value.to_owned()),
        "status" => {
            let status = Status::ALL.into_iter().find(|status| status.name() == value);
            filter.status = Some(status.ok_or("Must be active, expired or revoked.")?);
        }
        _ => {
            if let Some(label) = name.strip_prefix("label.") {
                filter.labels.insert(label.to_owned(), value.to_owned());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_list_is_read() {
        assert_eq!(
            parse_query("").unwrap(),
            IntegrationFilter { limit: DEFAULT_LIMIT, ..IntegrationFilter::default() }
        );
        let cursor = URL_SAFE_NO_PAD.encode(r#"["mail","ann"]"#);
        let expected = IntegrationFilter {
            connector: Some("mail".to_owned()),
            status: Some(Status::Expired),
            labels: [("team".to_owned(), "blue".to_owned())].into(),
            after: Some(("mail".to_owned(), "ann".to_owned())),
            limit: 7,
        };
        assert_eq!(
            parse_query(&format!("label.team=blue&connector=mail&status=expired&cursor={cursor}&limit=7")).unwrap(),
            expected
        );
    }

    #[test]
    fn a_wrong_query_is_refused() {
        for query in
            ["limit=0", "limit=1001", "limit=", "cursor=", "cursor=abc", "status=done", "state=active", "label.=a"]
        {
            assert!(parse_query(query).is_err(), "{query}");
        }
    }
}
