//! GET /integrations: the accounts that the caller's user has connected, in pages.

use hyper::Response;
use serde_json::json;

use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::lists::{Field, Filter, List, Parse, filter, put, read};
use endpoint::page::{self, Sizes};
use endpoint::records::IntegrationPageRecord;
use endpoint::route::HttpCall;
use integrations::IntegrationRecord;
use problem::{Problem, integration_problem};
use store::{IntegrationFilter, Status};

/// The list of the accounts of the caller's user.
#[derive(Clone, Copy, Debug)]
pub struct OwnIntegrations;

impl List for OwnIntegrations {
    type Query = IntegrationFilter;

    const FILTERS: &'static [Filter<IntegrationFilter>] = &[
        filter("connector", "Only accounts of this connector.").text(|filter| &mut filter.connector),
        filter("status", "Only accounts in this status.").schema("IntegrationStatus").one_of(
            || Status::ALL.map(Status::name).into(),
            |filter, name| filter.status = Status::ALL.into_iter().find(|status| status.name() == name),
        ),
        filter("label.", "`label.team=blue`: only accounts with this label. Repeat it for several labels.")
            .labels(|filter| &mut filter.labels),
    ];

    const SIZES: Sizes = Sizes { default: 100, max: 1000 };
    const LIMIT: Field<IntegrationFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<IntegrationFilter> = |filter, cursor| put(&mut filter.after, page::cursor(cursor).map(Some));
}

/// Answers with a page.
pub async fn list_integrations(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let filter = read::<OwnIntegrations>(call.head.uri.query().unwrap_or_default())?;
    let limit = filter.limit;
    // One more than the requested number shows whether there is another page.
    let filter = IntegrationFilter { limit: limit + 1, ..filter };
    let found = call.gateway.integrations.list_of_user(caller.tenant(), caller.subject(), filter).await;
    let mut found = found.map_err(|error| integration_problem(&error))?;
    let next_cursor =
        page::next_cursor(&mut found, limit, |last| (last.holder.connector.clone(), last.user_identifier.clone()));
    let now = clock::now();
    let integrations = found.iter().map(|integration| IntegrationRecord::at(integration, now)).collect();
    Ok(private_answer(&json!(IntegrationPageRecord { integrations, next_cursor })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_list_is_read() {
        let cursor = page::cursor_at(&("mail", "ann")).unwrap();
        let expected = IntegrationFilter {
            connector: Some("mail".to_owned()),
            among: None,
            user_identifier: None,
            status: Some(Status::Expired),
            labels: [("team".to_owned(), "blue".to_owned())].into(),
            after: Some(("mail".to_owned(), "ann".to_owned())),
            limit: 1000,
        };
        let query = format!("label.team=blue&connector=mail&status=expired&cursor={cursor}&limit=1000");
        assert_eq!(read::<OwnIntegrations>(&query).unwrap(), expected);
        assert_eq!(read::<OwnIntegrations>("").unwrap(), IntegrationFilter { limit: 100, ..Default::default() });
    }

    #[test]
    fn every_mistake_of_a_query_is_told() {
        let query = "limit=1001&cursor=abc&status=done&state=active&label.=a";
        let pointers = read::<OwnIntegrations>(query).unwrap_err().pointers();
        assert_eq!(pointers, ["/limit", "/cursor", "/status", "/state", "/label."]);
    }
}
