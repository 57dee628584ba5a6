//! The connected account, in the shape that the operation `userinfo` has in most connectors.

use serde::Serialize;

use crate::{Fault, Outcome};

/// An account at the service. A value that the service does not give is null in the answer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Userinfo {
    /// The id of the account, which never changes.
    pub id: String,
    /// The email address of the user.
    pub email: Option<String>,
    /// The name that the user signs in with.
    pub username: Option<String>,
    /// The name of the person.
    pub name: Option<String>,
    /// URL of a picture of the user.
    pub picture: Option<String>,
    /// The organization that the account belongs to.
    pub organization: Option<Organization>,
}

/// A company, workspace or tenant at the service.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Organization {
    /// The id of the organization, which never changes.
    pub id: Option<String>,
    /// The name of the organization.
    pub name: Option<String>,
}

impl Userinfo {
    /// The answer
    /// `{"data": {"id", "email", "username", "name", "picture", "organization": {"id", "name"}}, "meta": null}`.
    ///
    /// # Errors
    /// [`Fault::Failed`] if the value cannot be written as JSON. All values of this type can.
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
    fn unknown_members_are_null() {
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
