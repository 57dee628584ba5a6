//! The identity of the connected user.

use connector_sdk::http::{Error, Method};
use connector_sdk::userinfo::{Organization, Userinfo};
use connector_sdk::{Document, Fault, Outcome, Request};

use crate::slack;

/// Returns the user and workspace of the token, and the user's profile if the grant has the scope
/// for it.
pub(crate) fn userinfo() -> Result<Outcome, Fault> {
    let token = slack::answer(Request::new(Method::Post, "userinfo", ""))?;
    let Some(id) = token.string("/user_id") else {
        return Err(Error::BadAnswer("Slack's response to auth.test has no `user_id`".to_owned()).into());
    };
    let profile = profile(&id)?;
    let of_profile = |pointer: &str| profile.as_ref().and_then(|profile| profile.string(pointer));
    Userinfo {
        email: of_profile("/user/profile/email"),
        username: of_profile("/user/name").or_else(|| token.string("/user")),
        name: of_profile("/user/profile/real_name"),
        picture: of_profile("/user/profile/image_192"),
        organization: Some(Organization { id: token.string("/team_id"), name: token.string("/team") }),
        id,
    }
    .answer()
}

/// The user's profile. `None` if the user did not grant the scope for it.
fn profile(user: &str) -> Result<Option<Document>, Fault> {
    match slack::answer(Request::get("api", "/users.info").query("user", user)) {
        Ok(profile) => Ok(Some(profile)),
        Err(Fault::Upstream(fault)) if is_missing_scope(fault.body.as_deref()) => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn is_missing_scope(body: Option<&str>) -> bool {
    let answer = body.and_then(|body| Document::parse(body).ok());
    answer.and_then(|answer| answer.string("/error")).as_deref() == Some("missing_scope")
}
