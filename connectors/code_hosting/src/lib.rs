//! Repositories and issues of GitHub.
//!
//! # Layout
//! - `issues`: the operation `list_issues`.
//! - `cursor`: the cursor of `list_issues`.
//! - `comments`: the comments of an issue.
//! - `copy`: the stored copy of an issue's comments.
//! - `fingerprint`: a hash that `cursor` and `copy` use.
//! - `search`: the operation `search_issues`.
//! - `repositories`: the repositories of a search.
//! - `calls`: the number of requests that a search may still send.
//! - `found`: one result of a search.
//! - `projection`: the members of a result.
//! - `ranking`: the best results of a search.
//! - `summary`: counts of all results of a search.
//! - `account`: the identity of the connected user.
//! - `github`: requests to GitHub's API, and the next page of a response.
//! - `dates`: GitHub's dates.
//! - `triggers`: events of a repository.

mod account;
mod calls;
mod comments;
mod copy;
mod cursor;
mod dates;
mod fingerprint;
mod found;
mod github;
mod issues;
mod projection;
mod ranking;
mod repositories;
mod search;
mod summary;
mod triggers;

use connector_sdk::connector;

connector! {
    /// Repositories, issues, comments, commits and pull requests of GitHub, as the connected user sees them.
    ///
    /// GitHub also answers with status 404 for a private repository that the user has no access to,
    /// and with 410 for a repository whose issues are disabled.
    connector code_hosting "GitHub";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        provider: "github",
        authorization_url: "https://github.com/login/oauth/authorize",
        token_url: "https://github.com/login/oauth/access_token",
        // This address revokes one token. The address that ends in `/grant` revokes all tokens of
        // the user for this client.
        revocation: Some(Revocation::Delete("https://api.github.com/applications/{client_id}/token")),
        scopes: &["repo", "read:user"],
        revokes_replaced_grants: true,
        identity: Some(Identity::USERINFO),
        ..OAuth2::STANDARD
    });
    auth_additions &[AuthAddition::AppInstallation(AppInstallation {
        upstream: "api",
        path: "/app/installations/{installation_id}/access_tokens",
    })];

    upstream api "https://api.github.com";
    upstream userinfo "{api}/user" credential standard;

    /// Version of GitHub's REST API.
    setting api_version: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" default "2022-11-28";
    /// Organization that owns the repositories that callers name without an owner. If a caller
    /// names no repositories, search_issues searches all repositories of the organization.
    setting default_organization: string(1..);
    /// Maximum age of a copy of an issue's comments, in seconds.
    setting comments_max_age_s: integer(0..) default 300;

    inboxes triggers::INBOXES;
    triggers triggers::TRIGGERS;
    create_hook: internal subscribe fn triggers::create;
    update_hook: internal renew fn triggers::update;
    delete_hook: internal unsubscribe fn triggers::delete;
    read_activity: internal read fn triggers::read;
    redeliver: internal recover fn triggers::redeliver;
    find_installation: internal identify fn triggers::identify;

    header "Accept" "application/vnd.github+json";
    header "X-GitHub-Api-Version" "{settings.api_version}";

    entries {
        /// owner, collaborator, organization_member, with commas between
        affiliation,
        /// login, * for any, none for no assignee
        assignee,
        /// branch that takes the changes
        base,
        /// time before which it was changed
        before,
        /// login of the author
        creator,
        /// asc or desc
        direction,
        /// branch with the changes, such as octocat:patch-1
        head,
        /// names; an issue must match all
        labels,
        /// login of a mentioned user
        mentioned,
        /// milestone number, * for any, none for no milestone
        milestone,
        /// number of the page
        page,
        /// items on a page, 1 to 100
        per_page,
        /// time since which it was changed, such as 2026-03-01T00:00:00Z
        since,
        /// open, closed or all
        state,
        /// all, public or private
        visibility,
    };
    fields repository {
        /// account owner
        owner: string(1..),
        /// repository name without .git
        repo: string(1..),
    };

    /// Create an issue
    ///
    /// If the user has no push access, GitHub ignores assignees, milestone and labels.
    create_issue: POST api "/repos/{owner}/{repo}/issues" {
        ..repository,
        /// one line
        title: string,
        /// text in Markdown
        body?: string,
        /// logins; only users with push access
        assignees?: [string],
        /// milestone number; needs push access
        milestone?: integer,
        /// needs push access
        labels?: [string],
    }
    example { owner: "octocat", repo: "hello-world", title: "Found a bug", body: "Steps: ...", labels: ["bug"] };

    /// An issue by number
    get_issue: GET api "/repos/{owner}/{repo}/issues/{issue_number}" {
        ..repository,
        /// the number in the URL of the issue
        issue_number: integer(1..),
    }
    example { owner: "octocat", repo: "hello-world", issue_number: 1347 };

    /// Issues of a repository, by cursor, forwards or backwards
    ///
    /// The answer is `{items, page_info: {next_cursor, has_next_page, reverse, per_page}}`. Pull
    /// requests are left out, so a page that is not the last can have fewer items than `per_page`.
    /// With `reverse` the first page is the end of the list, and each next page precedes it.
    ///
    /// Usual `response_fields`: `items.number`, `items.title`, `items.state`, `items.html_url`,
    /// `page_info`.
    list_issues: read fn issues::list {
        ..repository,
        /// items on a page
        per_page?: integer(1..=100) default 30 assumed,
        /// opaque next_cursor of the previous answer
        page_cursor?: string,
        /// begins at the end of the list
        reverse?: boolean default false,
        /// key of the order
        sort?: string one_of ["created", "updated", "comments"] default "created" assumed,
        /// another name for sort; both given and different is an error
        order_by?: string one_of ["created", "updated", "comments"],
        /// direction of the order
        direction?: string one_of ["asc", "desc"] default "desc" assumed,
        /// further upstream parameters; labels may be a list
        filters?: entries[
            state, labels, assignee, creator, mentioned, milestone,
            /// name of the type, * for any, none for no type
            type,
            since,
        ],
    }
    example {
        owner: "octocat",
        repo: "hello-world",
        per_page: 50,
        sort: "updated",
        direction: "desc",
        reverse: false,
        filters: { state: "all", labels: ["bug"] },
    }
    pages "/items" next cursor "/page_info/next_cursor" into "/page_cursor";

    /// Comments of an issue, from a cache
    ///
    /// The answer is `{items, total_count, page, per_page, total_pages, cached, fetched_at}`. The
    /// connector answers from a copy of the comments that is at most five minutes old, or the age
    /// that the operator has set. `force_refresh` reads the comments anew. A comment must match all
    /// dates that are given.
    ///
    /// Usual `response_fields`: `items.user.login`, `items.body`, `items.created_at`,
    /// `total_pages`.
    list_issue_comments: read fn comments::list {
        ..repository,
        /// the number in the URL of the issue
        issue_number: integer(1..),
        /// reads the comments anew
        force_refresh?: boolean default false,
        /// YYYY-MM-DDTHH:MM:SSZ
        created_after?: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        /// YYYY-MM-DDTHH:MM:SSZ
        created_before?: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        /// YYYY-MM-DDTHH:MM:SSZ
        updated_after?: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        /// YYYY-MM-DDTHH:MM:SSZ
        updated_before?: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        /// items on a page
        per_page?: integer(1..=100) default 30,
        /// number of the page
        page?: integer(1..) default 1,
        /// key of the order
        order_by?: string one_of ["created_at", "updated_at", "id"] default "created_at",
        /// direction of the order
        direction?: string one_of ["asc", "desc"] default "desc",
    }
    example {
        owner: "octocat",
        repo: "hello-world",
        issue_number: 1347,
        updated_after: "2026-03-01T00:00:00Z",
        per_page: 50,
        force_refresh: true,
    }
    pages "/items" next page_number 1 into "/page";

    /// Add a comment to an issue
    ///
    /// Deletes the copy of the issue's comments that list_issue_comments answers from.
    create_issue_comment: write fn comments::create {
        ..repository,
        /// the number in the URL of the issue
        issue_number: integer(1..),
        /// text in Markdown
        body: string(..=262144),
    }
    example { owner: "octocat", repo: "hello-world", issue_number: 1347, body: "Me too" };

    /// Search issues in repositories, waiting or in the background
    ///
    /// The answer is `{total_count, truncated, repositories, issues, errors}`. Each issue has the
    /// member `repository`. Pull requests are left out. `total_count` is the number of issues that
    /// matched. The answer has at most the first 5,000 of them, or fewer if they are larger than 28
    /// MiB. With `summarize` it has only the first five, and `summary` counts all of them. `errors`
    /// names the repositories that could not be read. The search reads some 10,000 issues.
    /// `truncated` is true if there may be more results.
    ///
    /// Usual `response_fields`: `total_count`, `issues.repository`, `issues.number`,
    /// `issues.title`, `issues.state`.
    search_issues: read fn search::issues {
        /// OWNER/REPO, or REPO in the default organization; absent: all repositories of the default organization
        repositories?: [string] pattern "^([A-Za-z0-9_.-]+/)?[A-Za-z0-9_.-]+$",
        /// state of the issues
        state?: string one_of ["open", "closed", "all"] default "all",
        /// login of the author
        creator?: string,
        /// keys of an issue to include, dot notation; absent: all
        fields?: [string],
        /// counts instead of all issues
        summarize?: boolean default false,
        /// key of the order
        sort?: string one_of ["created", "updated", "comments"] default "updated",
        /// direction of the order
        direction?: string one_of ["asc", "desc"] default "desc" assumed,
        /// an issue must match all
        labels?: [string],
        /// login, * for any, none for no assignee
        assignee?: string,
        /// milestone number
        milestone?: integer,
        /// YYYY-MM-DD
        since?: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        /// YYYY-MM-DD
        until?: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        /// addresses notified when the search ends; forces waiting to false
        callback_urls?: [string] format "uri",
        waiting?: boolean default false,
    }
    background
    example {
        repositories: ["octocat/hello-world", "docs"],
        state: "open",
        labels: ["bug"],
        since: "2026-01-01",
        until: "2026-03-31",
        waiting: true,
    };

    /// Search issues and pull requests with AND and OR keywords
    ///
    /// GitHub answers with the first 1000 results of a search only.
    ///
    /// Usual `response_fields`: `total_count`, `items.number`, `items.title`, `items.html_url`.
    advanced_search: GET api "/search/issues?advanced_search=true" {
        /// for example repo:octocat/hello-world is:issue (label:bug OR label:regression)
        q: string,
        /// default best match
        sort?: string one_of [
            "comments", "reactions", "reactions-+1", "reactions--1", "reactions-smile", "reactions-thinking_face",
            "reactions-heart", "reactions-tada", "interactions", "created", "updated",
        ],
        /// direction of sort
        order?: string one_of ["desc", "asc"] default "desc",
        /// number of the page
        page?: integer(1..) default 1,
        /// items on a page
        per_page?: integer(1..=100) default 30,
    }
    example { q: "org:octocat is:open (label:bug OR label:regression)", sort: "updated", per_page: 50 }
    pages "/items" next page_number 1 into "/page";

    /// Commits of a repository
    ///
    /// Usual `response_fields`: `sha`, `commit.message`, `commit.author`, `html_url`.
    list_commits: GET api "/repos/{owner}/{repo}/commits" {
        ..repository,
        /// SHA or branch to start from; default the default branch
        sha?: string,
        /// only commits that touch this file path
        path?: string,
        /// login or email address of the author
        author?: string,
        /// login or email address of the committer
        committer?: string,
        /// YYYY-MM-DDTHH:MM:SSZ
        since?: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        /// YYYY-MM-DDTHH:MM:SSZ
        until?: string pattern "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        /// items on a page
        per_page?: integer(1..=100) default 30,
        /// number of the page
        page?: integer(1..) default 1,
    }
    example { owner: "octocat", repo: "hello-world", sha: "main", since: "2026-03-01T00:00:00Z" }
    pages "" next page_number 1 into "/page";

    /// A repository
    get_repository: GET api "/repos/{owner}/{repo}" { ..repository }
    example { owner: "octocat", repo: "hello-world" };

    /// Repositories of the user
    ///
    /// Usual `response_fields`: `full_name`, `description`, `html_url`, `pushed_at`.
    list_repositories: GET api "/user/repos" {
        /// GitHub's parameters; since and before are times such as 2026-03-01T00:00:00Z
        query?: entries[
            visibility, affiliation,
            /// all, owner, public, private or member, without visibility and affiliation
            type,
            /// created, updated, pushed or full_name
            sort,
            direction, per_page, page, since, before,
        ],
    }
    example { query: { sort: "pushed", per_page: 50 } }
    pages "" next page_number 1 into "/query/page";

    /// Change an issue: text, state, labels, assignees, milestone
    update_issue: PATCH api "/repos/{owner}/{repo}/issues/{issue_number}" {
        ..repository,
        /// the number in the URL of the issue
        issue_number: integer(1..),
        /// one line
        title?: string,
        /// text in Markdown
        body?: string,
        /// new state
        state?: string one_of ["open", "closed"],
        /// why the state changes
        state_reason?: string one_of ["completed", "not_planned", "duplicate", "reopened"],
        /// logins; replace the present ones
        assignees?: [string],
        /// null removes it
        milestone?: integer nullable,
        /// names; replace the present ones
        labels?: [string],
    }
    example { owner: "octocat", repo: "hello-world", issue_number: 1347, state: "closed", state_reason: "completed" };

    /// Pull requests of a repository
    ///
    /// Usual `response_fields`: `number`, `title`, `state`, `user.login`, `html_url`.
    list_pull_requests: GET api "/repos/{owner}/{repo}/pulls" {
        ..repository,
        /// GitHub's parameters; head is USER:BRANCH, base a branch
        query?: entries[
            state, head, base,
            /// created, updated, popularity or long-running
            sort,
            direction, per_page, page,
        ],
    }
    example { owner: "octocat", repo: "hello-world", query: { state: "open" } }
    pages "" next page_number 1 into "/query/page";

    /// A commit with its changed files
    get_commit: GET api "/repos/{owner}/{repo}/commits/{ref}" {
        ..repository,
        /// SHA, branch or tag
        ref: string keeps_slashes,
    }
    example { owner: "octocat", repo: "hello-world", ref: "main" };

    /// A file or folder of a repository
    ///
    /// The `content` of a file is base64, as GitHub gives it.
    get_file_contents: GET api "/repos/{owner}/{repo}/contents/{path}" {
        ..repository,
        /// path in the repository
        path: string keeps_slashes,
        /// SHA, branch or tag; default the default branch
        ref?: string in query,
    }
    answer_schema {
        anyOf: [
            {
                type: "object",
                description: "A file.",
                properties: {
                    type: { type: "string" },
                    name: { type: "string" },
                    path: { type: "string" },
                    sha: { type: "string" },
                    size: { type: "integer" },
                    encoding: { type: "string" },
                    content: { type: "string" },
                    url: { type: "string" },
                    html_url: { type: ["string", "null"] },
                    download_url: { type: ["string", "null"] },
                },
            },
            {
                type: "array",
                description: "The entries of a folder.",
                items: {
                    type: "object",
                    properties: {
                        type: { type: "string", description: "`file`, `dir`, `symlink` or `submodule`" },
                        name: { type: "string" },
                        path: { type: "string" },
                        sha: { type: "string" },
                        size: { type: "integer" },
                        url: { type: "string" },
                        html_url: { type: ["string", "null"] },
                        download_url: { type: ["string", "null"] },
                    },
                },
            },
        ],
    }
    example { owner: "octocat", repo: "hello-world", path: "docs/README.md" };

    /// The connected GitHub user, in the common userinfo shape
    userinfo: read fn account::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod trigger_tests;
