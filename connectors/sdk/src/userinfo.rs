//! Who the connected account is, in the shape that the operation `userinfo` has at most connectors.

use serde::Serialize;

use crate::{Fault, Outcome};

/// An account at the service. What the service does not say is null in the answer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Userinfo {
    /// Names the account for good.
    pub id: String,
    /// Where mail reaches its user.
    pub email: Option<String>,
    /// What the user signs in with, or is called by at the service.
    pub username: Option<String>,
    /// What people call the user.
    pub name: Option<String>,
    /// URL of a picture.
    pub picture: Option<String>,
    /// Where the account belongs to.
    pub organization: Option<Organization>,
}

/// A company, workspace or tenant at the service.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Organization {
    /// Names the organization for good.
    pub id: Option<String>,
    /// What people call it.
    pub name: Option<String>,
}

impl Userinfo {
    /// The answer `{"data": {"id", "email", "username", "name", "picture", "organization": {"id", "name"}}, "meta": null}`.
    ///
    /// # Errors
    /// None that this type can bring about.
    pub fn answer(&self) -> Result<Outcome, Fault> {
        #[derive(Serialize)]
        struct Answer<'a> {
            data: &'a Userinfo,
            meta: (),
        }
        Outcome::json(&Answer { data: self, meta: () })
    }
}

#[cfg(test)]
mod tests {
    use super::{Organization, Userinfo};
    use crate::Outcome;

    fn answer(account: &Userinfo) -> String {
        match account.answer() {
            Ok(Outcome::Reply(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_member_is_there_and_null_where_it_is_not_known() {
        assert_eq!(
            answer(&Userinfo { id: "7".to_owned(), ..Userinfo::default() }),
            r#"{"data":{"id":"7","email":null,"username":null,"name":null,"picture":null,"organization":null},"meta":null}"#
        );
        let organization = Organization { id: Some("o".to_owned()), name: None };
        assert_eq!(
            answer(&Userinfo { id: "7".to_owned(), organization: Some(organization), ..Userinfo::default() }),
            r#"{"data":{"id":"7","email":null,"username":null,"name":null,"picture":null,"organization":{"id":"o","name":null}},"meta":null}"#
        );
    }
}
