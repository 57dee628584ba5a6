//! Groups, members and users of a Google Workspace directory.
//!
//! # Layout
//! - `group`: the check of a group's update.
//! - `password`: a user's new password.

mod group;
mod password;

use connector_sdk::connector;

connector! {
    /// Groups, their members, and users of a Google Workspace domain.
    ///
    /// Every operation needs an account with administrator privileges in the domain. Google answers
    /// other accounts with the status
    /// 403. Entries of `query` have Google's names.
    connector workspace_user_management "Google Workspace directory (Admin SDK)";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
            "https://www.googleapis.com/auth/admin.directory.group",
            "https://www.googleapis.com/auth/admin.directory.user",
        ],
        ..connector_google::OAUTH2
    });
    auth_additions connector_google::AUTH_ADDITIONS;

    upstream api "https://admin.googleapis.com/admin/directory/v1";
    upstream oauth2 "https://www.googleapis.com/oauth2/v2";
    upstream userinfo "{oauth2}/userinfo" credential standard;

    lists repeated;

    values roles ["OWNER", "MANAGER", "MEMBER"];

    entries {
        /// names of schemas for projection=custom, with commas between
        customFieldMask,
        /// id of the organization, or my_customer
        customer,
        /// only this domain
        domain,
        /// for subscriptions: add, delete, makeAdmin, undelete or update
        event,
        /// includes indirect members
        includeDerivedMembership,
        /// size of a page, 1 to 200
        maxResults,
        /// nextPageToken of the previous answer
        pageToken,
        /// basic, custom or full
        projection,
        /// OWNER, MANAGER, MEMBER, with commas between
        roles,
        /// true lists deleted users
        showDeleted,
        /// ASCENDING or DESCENDING
        sortOrder,
        /// address or unique id of a member of the groups
        userKey,
        /// admin_view or domain_public
        viewType,
    };
    fields group {
        /// address, alias or unique id of the group
        group_key: string,
    };
    fields member {
        /// address, alias or unique id of the group
        group_key: string,
        /// address or unique id of the member
        member_key: string,
    };
    fields user {
        /// primary address, alias or unique id of the user
        user_key: string(1..),
    };

    /// Add a user, service account or group to a group
    add_member_to_group: POST api "/groups/{group_key}/members" {
        ..group,
        /// address of the new member
        email: string,
        /// role in the group
        role?: string one_of roles default "MEMBER" sent,
    }
    example { group_key: "team@example.com", email: "kim@example.com", role: "MEMBER" };

    /// Remove a member and so revoke group access
    ///
    /// The answer is `{}`.
    remove_member_from_group: DELETE api "/groups/{group_key}/members/{member_key}" { ..member }
        example { group_key: "team@example.com", member_key: "kim@example.com" };

    /// Create a group with an address, a name and a description
    create_group: POST api "/groups" {
        /// address of the group
        email: string,
        /// display name
        name?: string,
        /// what the group is for
        description?: string,
    }
    example { email: "team@example.com", name: "Team", description: "All of the team" };

    /// Permanently delete a group; irreversible; members lose access to group resources
    ///
    /// The answer is `{}`.
    delete_group: DELETE api "/groups/{group_key}" { ..group } example { group_key: "team@example.com" };

    /// Reset a user's password, optionally forcing a change at next login; needs administrator privileges
    ///
    /// A password consists of ASCII characters. The answer has the members id, primaryEmail,
    /// changePasswordAtNextLogin, suspended and isAdmin of the user. No answer and no error shows
    /// the password.
    reset_user_password: write fn password::reset {
        ..user,
        /// new password
        password: string(8..=100) pattern r"^[\x00-\x7F]*$" secret,
        /// the user must change it
        change_password_at_next_login?: boolean default false,
    }
    example {
        user_key: "kim@example.com",
        password: "correct-horse-battery",
        change_password_at_next_login: true,
    };

    /// List groups of the domain with filtering, pagination and sorting
    ///
    /// Without `customer`, `domain` and `userKey`, the operation lists the groups of the account's
    /// organization. `maxResults` is at most 200, which is also the default.
    list_groups: GET api "/groups" {
        /// Google's parameters; query such as email:team*
        query?: entries[
            customer, domain, maxResults,
            /// email
            orderBy,
            pageToken,
            /// search in fields of groups
            query,
            sortOrder, userKey,
        ],
    }
    default_query { customer: "my_customer" } unless [customer, domain, userKey]
    example { query: { domain: "example.com", maxResults: 100, orderBy: "email" } }
    pages "/groups" next cursor "/nextPageToken" into "/query/pageToken";

    /// List members of a group with roles; paginated
    ///
    /// `maxResults` is at most 200, which is also the default.
    list_group_members: GET api "/groups/{group_key}/members" {
        ..group,
        /// Google's parameters; roles such as OWNER,MANAGER
        query?: entries[includeDerivedMembership, maxResults, pageToken, roles],
    }
    example { group_key: "team@example.com", query: { roles: "OWNER,MANAGER" } }
    pages "/members" next cursor "/nextPageToken" into "/query/pageToken";

    /// Details of a group: address, name, description, member count, settings
    get_group: GET api "/groups/{group_key}" { ..group } example { group_key: "team@example.com" };

    /// Update name, description or address; partial update of the given fields
    ///
    /// An update needs one of `email`, `name` and `description`.
    update_group: PATCH api "/groups/{group_key}" {
        ..group,
        /// new address
        email?: string,
        /// display name
        name?: string,
        /// what the group is for
        description?: string,
    }
    check group::check_update
    example { group_key: "team@example.com", description: "New description" };

    /// List users of the domain
    ///
    /// Without `customer` and `domain`, the operation lists the users of the account's
    /// organization. `maxResults` is at most 500. Without it, Google returns at most 100 users.
    list_users: GET api "/users" {
        /// Google's parameters; query such as givenName:Kim*
        query?: entries[
            customFieldMask, customer, domain, event,
            /// size of a page, 1 to 500
            maxResults,
            /// email, familyName or givenName
            orderBy,
            pageToken, projection,
            /// search in fields of users
            query,
            showDeleted, sortOrder, viewType,
        ],
    }
    default_query { customer: "my_customer" } unless [customer, domain]
    example { query: { query: "givenName:Kim*", maxResults: 50 } }
    pages "/users" next cursor "/nextPageToken" into "/query/pageToken";

    /// A user by address or id
    get_user: GET api "/users/{user_key}" {
        ..user,
        /// Google's parameters, by their names
        query?: entries[customFieldMask, projection, viewType],
    }
    example { user_key: "kim@example.com" };

    /// Change the role of a group member
    update_member_role: PATCH api "/groups/{group_key}/members/{member_key}" {
        ..member,
        /// role in the group
        role: string one_of roles,
    }
    example { group_key: "team@example.com", member_key: "kim@example.com", role: "MANAGER" };

    /// Whether a user is a direct or nested member of a group
    ///
    /// The answer is `{"isMember": true}` or `{"isMember": false}`.
    has_member: GET api "/groups/{group_key}/hasMember/{member_key}" { ..member }
        example { group_key: "team@example.com", member_key: "kim@example.com" };

    /// The connected Google account, in the common userinfo shape
    userinfo: read fn connector_google::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
