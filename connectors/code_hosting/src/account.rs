//! The identity of the connected user.

use connector_sdk::http::Method;
use connector_sdk::json::Kind;
use connector_sdk::userinfo::{Organization, Userinfo};
use connector_sdk::{Fault, Outcome};

use crate::{CONNECTOR, github};

pub(crate) fn userinfo() -> Result<Outcome, Fault> {
    let user = github::send(CONNECTOR.request(Method::Get, "userinfo", "")?)?.document()?;
    let id = user.pointer("/id").filter(|id| id.kind() == Kind::Number);
    let id = id.ok_or_else(|| github::not_understood("the user has no `id`"))?.text();
    Userinfo {
        id,
        email: user.string("/email"),
        username: user.string("/login"),
        name: user.string("/name"),
        picture: user.string("/avatar_url"),
        organization: user
            .string("/company")
            .filter(|company| !company.is_empty())
            .map(|company| Organization { id: None, name: Some(company) }),
    }
    .answer()
}
