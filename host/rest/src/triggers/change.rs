//! PATCH /triggers/{trigger_id}: changes a trigger.

use hyper::Response;
use serde_json::{Value, json};

use super::{trigger_problem, unknown_trigger};
use body::Body;
use endpoint::answer::private_answer;
use endpoint::authorize::AuthorizedCaller;
use endpoint::body::{parse_checked, read_json_body};
use endpoint::records::TriggerChangeBody;
use endpoint::route::HttpCall;
use problem::{Problem, violations_problem};
use schema::Violation;
use triggers::Changes;

/// Members of a trigger that stay as they were made.
const FIXED: [&str; 4] = ["/parameters", "/connector", "/type", "/user_identifier"];

/// Changes a trigger. Its cursor and its subscription stay.
pub async fn change_trigger(call: HttpCall<'_>, caller: AuthorizedCaller) -> Result<Response<Body>, Problem> {
    let HttpCall { gateway, head, body, arguments, .. } = call;
    let body = read_json_body(&head.headers, body, gateway).await?;
    let changes = changes(parse_checked(&body).await?)?;
    let id = arguments.trigger_id;
    let changed = gateway.triggers.change(caller.triggers(), id, changes).await.map_err(trigger_problem)?;
    Ok(private_answer(&json!(changed.ok_or_else(|| unknown_trigger(id))?)))
}

fn changes(read: Result<TriggerChangeBody, Vec<Violation>>) -> Result<Changes, Problem> {
    let TriggerChangeBody { urls, filters, response_fields, labels, poll_s, paused } = read.map_err(|mut violations| {
        for Violation { pointer, detail } in &mut violations {
            if FIXED.contains(&pointer.as_str()) {
                *detail = "It cannot be changed: events before and after could not be told apart. Make another trigger with POST \
                           /triggers, and delete this one."
                    .to_owned();
            }
        }
        violations_problem(violations)
    })?;
    Ok(Changes {
        urls,
        filters: filters.map(|filters| filters.map_or(Value::Null, |filters| json!(filters))),
        response_fields: response_fields.map(|fields| fields.map_or(Value::Null, |fields| json!(fields))),
        labels,
        poll_s,
        paused,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(body: &str) -> Result<Changes, Problem> {
        changes(parse_checked(body.as_bytes()).await.unwrap())
    }

    #[tokio::test]
    async fn a_member_that_is_left_out_does_not_change_and_null_resets_it() {
        let none = read("{}").await.unwrap();
        assert!(none.urls.is_none() && none.filters.is_none() && none.poll_s.is_none() && none.paused.is_none());
        let reset = read(r#"{"filters": null, "response_fields": null, "poll_s": null}"#).await.unwrap();
        assert_eq!((reset.filters, reset.response_fields), (Some(Value::Null), Some(Value::Null)));
        assert_eq!(reset.poll_s, Some(None));
        let set = r#"{"filters": [{"pointer": "/a", "in": [1, null]}], "poll_s": 60, "paused": true, "urls": []}"#;
        let set = read(set).await.unwrap();
        assert_eq!(set.filters, Some(json!([{"pointer": "/a", "in": [1, null]}])));
        assert_eq!((set.poll_s, set.paused, set.urls), (Some(Some(60)), Some(true), Some(Vec::new())));
    }

    #[tokio::test]
    async fn what_a_trigger_looks_at_is_fixed_and_the_problem_says_what_to_do() {
        let problem = read(r#"{"parameters": {}, "poll_s": 5, "pasued": true}"#).await.unwrap_err();
        let mut pointers = problem.pointers();
        pointers.sort();
        assert_eq!(pointers, ["/parameters", "/pasued", "/poll_s"]);
        assert!(problem.document("").to_string().contains("Make another trigger"));
    }
}
