//! Posts and users of X.
//!
//! # Layout
//! - `search`: posts of the last seven days.
//! - `users`: look-ups of users.
//! - `thread`: all posts of a conversation.
//! - `account`: the identity of the connected user.
//! - `request`: the parameters of X's requests, and look-ups of one thing.
//! - `times`: times as X writes them.
//! - `triggers`: posts and mentions of a user, as events.

mod account;
mod request;
mod search;
mod thread;
mod times;
mod triggers;
mod users;

use connector_sdk::connector;

connector! {
    /// Posts and users of X, as the connected user sees them.
    ///
    /// Answers are X's. A 200 may have `errors` in addition to `data`: X then found only a part of
    /// the requested data. X's limits of requests depend on the operator's plan.
    connector microblog "X (API v2)";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        provider: "x",
        authorization_url: "https://x.com/i/oauth2/authorize",
        token_url: "https://api.x.com/2/oauth2/token",
        revocation: Some(Revocation::Form("https://api.x.com/2/oauth2/revoke")),
        scopes: &[
            "tweet.read",
            "users.read",
            // Only for `create_tweet` and `delete_tweet`.
            "tweet.write",
            // X issues a refresh token only for this scope. An access token is valid for two hours.
            "offline.access",
        ],
        client_authentication: ClientAuthentication::Basic,
        // X does not document if this would end the other grants of the user.
        revokes_replaced_grants: false,
        identity: Some(Identity::USERINFO),
        ..OAuth2::STANDARD
    });

    upstream api "https://api.x.com/2";
    upstream userinfo "{api}/users/me" credential standard;

    /// X's name of the parameter that selects fields of posts. X renamed it in 2026. With
    /// `tweet.fields`, `get_thread` also requests the expansions by their older names.
    setting post_fields: string one_of ["post.fields", "tweet.fields"] default "post.fields";

    triggers triggers::TRIGGERS;
    read_mentions: internal read fn triggers::mentions;
    read_posts: internal read fn triggers::posts;

    via request::forward;

    fields of_posts {
        /// fields of posts, such as created_at, public_metrics
        tweet_fields?: [string] as "post.fields" joined ",",
        /// ids to resolve into objects, such as author_id
        expansions?: [string] joined ",",
        /// fields of media, such as url
        media_fields?: [string] as "media.fields" joined ",",
        /// fields of places, such as full_name
        place_fields?: [string] as "place.fields" joined ",",
        /// fields of polls, such as options
        poll_fields?: [string] as "poll.fields" joined ",",
        /// fields of users, such as username
        user_fields?: [string] as "user.fields" joined ",",
    };
    fields period {
        /// oldest time, included
        start_time?: string format "date-time",
        /// newest time, excluded
        end_time?: string format "date-time",
    };

    /// Search posts of the last seven days
    ///
    /// X refuses a time that is not within the last seven days. If nothing is found, the answer has
    /// no `data`, and `meta.result_count` is 0.
    tweet_search: read fn search::recent {
        /// X's search syntax, such as from:NAME -is:retweet
        query: string(1..=512),
        /// newest time, excluded
        end_time?: string format "date-time",
        /// oldest time, included
        start_time?: string format "date-time",
        /// newest first, or most relevant first
        sort_order?: string one_of ["recency", "relevancy"],
        /// language code
        lang?: string pattern "^[a-z]{2,3}(-[A-Za-z]+)?$",
        /// posts on a page
        max_results?: integer(10..=100) default 10 assumed,
        ..of_posts,
        /// results with id greater than it
        since_id?: string pattern "^[0-9]{1,19}$",
        /// results with id less than it
        until_id?: string pattern "^[0-9]{1,19}$",
        /// next_token of the previous answer
        next_token?: string,
    }
    example {
        query: "rust wasm -is:retweet",
        lang: "en",
        max_results: 50,
        tweet_fields: ["created_at", "public_metrics"],
    }
    pages "/data" next cursor "/meta/next_token" into "/next_token";

    /// Posts by their ids
    get_tweets: GET api "/tweets" {
        /// ids of posts
        ids: [string](1..=100) pattern "^[0-9]{1,19}$" joined ",",
        ..of_posts,
    }
    example {
        ids: ["1460323737035677698", "1519781379172495360"],
        tweet_fields: ["created_at", "conversation_id"],
    };

    /// All posts of a conversation
    ///
    /// `data` has the first post of the conversation, then the others by rising id. X's search
    /// reaches back seven days, so of an older conversation the answer has the first post, the
    /// given post and the newest ones. At most 1,000 posts are read.
    ///
    /// `meta` has conversation_id, result_count (length of `data`), pages (number of pages of the
    /// search), truncated (`true` if there are more posts), searched_days, and missing: ids of
    /// posts that the call or a post of `data` names, and that X did not give. If X's rate limit
    /// cut the answer off, `truncated` is `true` and `meta.retry_at` is the time of the next
    /// attempt.
    get_thread: read fn thread::conversation {
        /// id of the conversation tweet
        id: string pattern "^[0-9]{1,19}$",
    }
    example { id: "1519781379172495360" };

    /// Users by id, ids, username or usernames
    ///
    /// A call needs exactly one of the four. `data` is an object for `id` and `username`, and a
    /// list for `ids` and `usernames`.
    "get-users": read fn users::find {
        /// id of one user
        id?: string pattern "^[0-9]{1,19}$",
        /// ids of users
        ids?: [string](1..=100) pattern "^[0-9]{1,19}$",
        /// handle of one user
        username?: string pattern "^@?[A-Za-z0-9_]{1,15}$",
        /// handles of users
        usernames?: [string](1..=100) pattern "^@?[A-Za-z0-9_]{1,15}$",
        /// fields of users, such as username
        user_fields?: [string],
        /// ids to resolve into objects, such as author_id
        expansions?: [string],
        /// fields of posts, such as created_at, public_metrics
        tweet_fields?: [string],
    }
    answer_schema {
        type: "object",
        properties: {
            data: {
                anyOf: [
                    {
                        description: "The user, if the call gives `id` or `username`.",
                        type: "object",
                        properties: {
                            id: { type: "string" },
                            name: { type: "string" },
                            username: { type: "string" },
                            description: { type: "string" },
                            created_at: { type: "string" },
                            verified: { type: "boolean" },
                            protected: { type: "boolean" },
                            profile_image_url: { type: "string" },
                            public_metrics: { type: "object" },
                        },
                    },
                    {
                        description: "The users, if the call gives `ids` or `usernames`.",
                        type: "array",
                        items: {
                            type: "object",
                            properties: {
                                id: { type: "string" },
                                name: { type: "string" },
                                username: { type: "string" },
                            },
                        },
                    },
                ],
            },
            includes: { type: "object" },
            errors: { type: "array", items: { type: "object" } },
        },
    }
    example { usernames: ["XDevelopers", "jack"], user_fields: ["created_at", "verified"] };

    /// Publish a post
    ///
    /// The gateway does not publish it again after a timeout.
    create_tweet: POST api "/tweets" {
        /// text of the post
        text: string,
        /// id of the post to reply to
        in_reply_to_tweet_id?: string as "reply.in_reply_to_tweet_id",
        /// id of the post to quote
        quote_tweet_id?: string,
        /// who may reply; absent: anyone
        reply_settings?: string one_of ["following", "mentionedUsers", "subscribers", "verified"],
    }
    example { text: "Hello" };

    /// Delete a post of the user
    delete_tweet: DELETE api "/tweets/{id}" {
        /// id of the post
        id: string pattern "^[0-9]{1,19}$",
    }
    example { id: "1519781379172495360" };

    /// Posts of a user
    get_user_tweets: GET api "/users/{id}/tweets" {
        /// id of the user
        id: string pattern "^[0-9]{1,19}$",
        /// posts on a page
        max_results?: integer(5..=100),
        /// next_token of the previous answer
        pagination_token?: string,
        ..period,
        /// replies, retweets
        exclude?: [string] joined ",",
        ..of_posts,
    }
    example { id: "2244994945", max_results: 20 }
    pages "/data" next cursor "/meta/next_token" into "/pagination_token";

    /// Posts that mention a user
    get_user_mentions: GET api "/users/{id}/mentions" {
        /// id of the user
        id: string pattern "^[0-9]{1,19}$",
        /// posts on a page
        max_results?: integer(5..=100),
        /// next_token of the previous answer
        pagination_token?: string,
        ..period,
        ..of_posts,
    }
    example { id: "2244994945" }
    pages "/data" next cursor "/meta/next_token" into "/pagination_token";

    /// Number of posts that match a search, over time
    tweet_counts: GET api "/tweets/counts/recent" {
        /// X's search syntax, such as from:NAME -is:retweet
        query: string(1..=512),
        /// length of a period that is counted
        granularity?: string one_of ["minute", "hour", "day"] default "hour",
        ..period,
        /// next_token of the previous answer
        next_token?: string,
    }
    example { query: "rust wasm", granularity: "day" }
    pages "/data" next cursor "/meta/next_token" into "/next_token";

    /// The connected X user, in the common userinfo shape
    ///
    /// X does not give the email address.
    userinfo: read fn account::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod thread_tests;
#[cfg(test)]
mod trigger_tests;
