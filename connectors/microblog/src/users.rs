//! Look-ups of users by one of four fields.

use connector_sdk::{Fault, Outcome, Request};

use crate::request::{look_up, with_list};
use crate::{GetUsers, settings};

/// Returns X's response to the look-up that the call names. A list of users may lack some of them,
/// which X then names in `errors`.
///
/// # Errors
/// [`Fault::InvalidInput`] if the call does not name exactly one look-up. [`Fault::NotFound`] if
/// the look-up is of one user, and X does not have it.
pub(crate) fn find(input: GetUsers) -> Result<Outcome, Fault> {
    let selected = |request: Request| -> Result<Request, Fault> {
        let request = with_list(request, "user.fields", input.user_fields.as_ref());
        let request = with_list(request, "expansions", input.expansions.as_ref());
        Ok(with_list(request, &settings::post_fields()?, input.tweet_fields.as_ref()))
    };
    let one = |path: &str, field: &str, value: &str| {
        let request = selected(Request::get("api", path).segment(field, value)?)?;
        look_up(request, &format!("user `{value}`")).map(Outcome::ReplyDocument)
    };
    let many = |path: &str, name: &str, values: Vec<&str>| {
        selected(Request::get("api", path).query(name, values.join(","))).map(Outcome::Forward)
    };
    match (&input.id, &input.ids, &input.username, &input.usernames) {
        (Some(id), None, None, None) => one("/users", "id", id),
        (None, Some(ids), None, None) => many("/users", "ids", ids.iter().map(String::as_str).collect()),
        (None, None, Some(name), None) => one("/users/by/username", "username", plain(name)),
        (None, None, None, Some(names)) => {
            many("/users/by", "usernames", names.iter().map(|name| plain(name)).collect())
        }
        _ => Err(not_one(&input)),
    }
}

/// The username without its `@`.
fn plain(username: &str) -> &str {
    username.strip_prefix('@').unwrap_or(username)
}

fn not_one(input: &GetUsers) -> Fault {
    let given: Vec<&str> = [
        ("`id`", input.id.is_some()),
        ("`ids`", input.ids.is_some()),
        ("`username`", input.username.is_some()),
        ("`usernames`", input.usernames.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, is_given)| is_given.then_some(name))
    .collect();
    let found = if given.is_empty() { "names no user".to_owned() } else { format!("has {}", given.join(", ")) };
    Fault::invalid_input("", format!("Give exactly one of `id`, `ids`, `username` and `usernames`. The call {found}."))
}
