//! People of an HR system. HR systems have no common API, so the operator configures every address.

mod userinfo;

use connector_sdk::connector;

connector! {
    /// The connected user of an HR system with employee and roles, and the employees of the system.
    ///
    /// The operator configures `upstreams.api` (base URL of the HR system),
    /// `oauth.authorization_url`, `oauth.token_url`, `oauth.revocation_url` and `oauth.scopes`. If
    /// the user's address is not `/userinfo` below the base URL, the operator also configures the
    /// setting `userinfo_path`, or `oauth.userinfo_url` for another host.
    connector hr_platform "HR platform (a private or in-house system, set by configuration)";
    icon "../icon.svg";
    answer_examples "answers.json";

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
    upstream userinfo "{api}/userinfo" credential standard;

    /// Path of the connected user below the base URL. Without it, the address is `oauth.userinfo_url`, or `/userinfo`.
    setting userinfo_path: string pattern "^/";
    /// Path of the list of employees below the base URL.
    setting employees_path: string pattern "^/" default "/employees";

    /// The connected HR user with employee and roles
    ///
    /// The answer is
    /// `{"data": {"id", "email", "username", "employee": {"id", "name"}, "roles": [{"id", "name", "active"}]}, "meta": null}`
    /// and always has all members. `email`, `username` and `employee` may be null. The HR system
    /// may answer with the user, or with an object whose member `data` is the user. It may name the
    /// username `userName` or `login`, give an employee's first and last name, and give a single
    /// role as `role` or `userRole`.
    userinfo: read fn userinfo::of_user example {};

    /// Employees of the HR system, page by page
    ///
    /// The HR system defines the parameters for pages and the answer.
    list_employees: GET api "{settings.employees_path}" {
        /// parameters of the HR system
        query?: entries[
            /// number of the page
            page,
            /// items on a page
            per_page,
            /// words to find
            search,
        ],
    }
    example { query: { page: 1, per_page: 50 } };

    /// One employee by id
    get_employee: GET api "{settings.employees_path}/{employee_id}" {
        /// id of the employee
        employee_id: string,
    }
    example { employee_id: "42" };
}

#[cfg(test)]
mod operation_tests;
