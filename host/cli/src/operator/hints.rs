//! Hints about a list that is empty because a filter has a misspelt name.

use authoring::gateway::RunningGateway;
use authoring::output::remark;
use connector_gateway::operator_lists::problem_names;
use contract::words::{nearest, nearest_titled, shortened};
use serde_json::Value;

use super::all_entries;
use super::filters::Given;

/// The connector of the events of the gateway itself. The list of connectors does not have it.
const GATEWAY: &str = "gateway";

/// Says which filters name a connector or a problem that does not exist. A connector may have been
/// removed, and a provider may send codes that the gateway does not know, so this is no error.
pub(super) async fn about_empty_list(gateway: &RunningGateway, filters: &[Given]) {
    for (filter, name) in filters {
        let hint = match *filter {
            "connector" if name != GATEWAY => {
                // The list itself was read. Without the connectors, there is no hint.
                let Ok(page) = all_entries(gateway, &["admin", "connectors"], "connectors").await else { continue };
                about_connector(name, &page.entries)
            }
            "problem" => about_problem(name, &problem_names()),
            _ => None,
        };
        if let Some(hint) = hint {
            remark(hint);
        }
    }
}

/// `None` if a connector has this name.
fn about_connector(name: &str, connectors: &[Value]) -> Option<String> {
    let text = |record: &Value, member: &str| record[member].as_str().unwrap_or_default().to_owned();
    let known: Vec<(String, String)> =
        connectors.iter().map(|record| (text(record, "connector"), text(record, "title"))).collect();
    if known.iter().any(|(connector, _)| connector == name) {
        return None;
    }
    let candidates = known.iter().map(|(connector, title)| (connector.as_str(), title.as_str()));
    Some(unknown("no connector", name, nearest_titled(name, candidates)))
}

/// `None` if a problem has this name.
fn about_problem(name: &str, known: &[String]) -> Option<String> {
    if known.iter().any(|problem| problem == name) {
        return None;
    }
    Some(unknown("no problem", name, nearest(name, known.iter().map(String::as_str))))
}

fn unknown(what: &str, name: &str, nearest: Option<&str>) -> String {
    let question = nearest.map(|nearest| format!(" Did you mean `{nearest}`?")).unwrap_or_default();
    format!("There is {what} `{}`.{question}", shortened(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_misspelt_name_is_told_the_nearest_one() {
        let connectors = [
            json!({"connector": "south_calendar", "title": "Delta Calendar"}),
            json!({"connector": "south_mail", "title": "Delta Mail"}),
        ];
        let hint = |name: &str| about_connector(name, &connectors);
        assert_eq!(hint("south_mail"), None);
        assert_eq!(hint("soth_mial").unwrap(), "There is no connector `soth_mial`. Did you mean `south_mail`?");
        assert_eq!(hint("zzz").unwrap(), "There is no connector `zzz`.");
        let problems = ["upstream-failed", "busy"].map(str::to_owned);
        assert_eq!(about_problem("busy", &problems), None);
        let expected = "There is no problem `upsream-failed`. Did you mean `upstream-failed`?";
        assert_eq!(about_problem("upsream-failed", &problems).unwrap(), expected);
    }
}
