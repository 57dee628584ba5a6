//! The identity of the connected user.

use connector_sdk::http::{self, Error};
use connector_sdk::userinfo::Userinfo;
use connector_sdk::{Fault, Outcome, Request};

/// Returns the user of the token.
///
/// # Errors
/// X's own refusal, or [`Error::BadAnswer`] if the response has no user.
pub(crate) fn userinfo() -> Result<Outcome, Fault> {
    let request = Request::get("userinfo", "").query("user.fields", "profile_image_url");
    let user = http::send(request)?.successful()?.document()?;
    let Some(id) = user.string("/data/id") else {
        return Err(Error::BadAnswer("X's response to users/me has no `data.id`".to_owned()).into());
    };
    Userinfo {
        id,
        email: None,
        username: user.string("/data/username"),
        name: user.string("/data/name"),
        picture: user.string("/data/profile_image_url"),
        organization: None,
    }
    .answer()
}
