//! People of an HR system. There is no standard among such systems, so the operator says where this one is.

mod userinfo;

use connector_sdk::connector;

connector! {
    /// The connected user of an HR system with employee and roles, and its employees.
    ///
    /// Every address is the operator's: `upstreams.api` (base URL of the HR system), `oauth.authorization_url`, `oauth.token_url`,
    /// `oauth.revocation_url` and `oauth.scopes`, and `oauth.userinfo_url` where it is not `/userinfo` of the system.
    ///
    /// Settings: `userinfo_path` (default `/userinfo`) and `employees_path` (default `/employees`), below the base URL.
    connector hr_platform "HR platform (a private or in-house system, set by configuration)";

    auth Auth::OAuth2(OAuth2 {
        provider: "hr",
        identity: Some(Identity {
            operation: "userinfo",
            id: "/data/id",
            email: Some("/data/email"),
            name: Some("/data/employee/name"),
        }),
        ..OAuth2::STANDARD
    });

    upstream api "";
    upstream userinfo "{api}/userinfo";

    setting employees_path "/employees";

    /// The connected HR user with employee and roles
    ///
    /// Answers `{"data": {"id", "email", "username", "employee": {"id", "name"}, "roles": [{"id", "name", "active"}]}, "meta": null}`,
    /// always with all members; email, username and employee may be null. Of the system's answer, bare or in `data`, username may
    /// also be called userName or login; an employee may have first and last name; a single role may be called role or userRole.
    userinfo: read fn userinfo::of_user example {};

    /// Employees of the HR system, page by page
    ///
    /// Paging parameters and answer are those of the HR system and passed on as they are.
    list_employees: GET api "{settings.employees_path}" query [page, per_page, search]
        example { query: { page: 1, per_page: 50 } };

    /// One employee by id
    get_employee: GET api "{settings.employees_path}/{employee_id}" example { employee_id: "42" };
}

#[cfg(test)]
mod operation_tests;
