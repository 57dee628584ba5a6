//! Channels, messages and people of Slack.
//!
//! # Layout
//! - `slack`: requests to Slack's Web API.
//! - `problem`: Slack's error codes.
//! - `message`: the content of a message.
//! - `account`: the identity of the connected user.
//! - `triggers`: events of the workspace.

mod account;
mod message;
mod problem;
mod slack;
mod triggers;

use connector_sdk::connector;

connector! {
    /// Channels, messages and people of a Slack workspace, as the connected user sees them.
    ///
    /// Answers are Slack's. `response_metadata.next_cursor` of an answer is the `cursor` of the
    /// next page; it is empty on the last page. Only users of an Enterprise organization need
    /// `team_id`.
    connector team_chat "Slack";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        provider: "slack",
        authorization_url: "https://slack.com/oauth/v2/authorize",
        token_url: "https://slack.com/api/oauth.v2.access",
        revocation: Some(Revocation::Bearer("https://slack.com/api/auth.revoke")),
        scopes: &[
            "channels:read",
            "groups:read",
            "im:read",
            "mpim:read",
            "channels:history",
            "groups:history",
            "im:history",
            "mpim:history",
            "channels:write",
            "groups:write",
            "chat:write",
            "users:read",
            "users:read.email",
        ],
        // Operations act for the user, so the connector requests the user's token, not a bot's
        // token.
        scope_parameter: "user_scope",
        scope_separator: ",",
        token_pointer: "/authed_user",
        pkce: false,
        revokes_replaced_grants: true,
        identity: Some(Identity::USERINFO),
        ..OAuth2::STANDARD
    });

    upstream api "https://slack.com/api";
    upstream userinfo "{api}/auth.test" credential standard;

    inboxes triggers::INBOXES;
    triggers triggers::TRIGGERS;

    via slack::call;

    entries {
        /// response_metadata.next_cursor of the previous answer
        cursor,
        /// leaves out archived conversations
        exclude_archived,
        /// leaves out muted conversations
        exclude_muted,
        /// includes the locale
        include_locale,
        /// most items on a page, at most 999
        limit,
        /// id of the workspace, for an Enterprise organization
        team_id,
        /// public_channel, private_channel, mpim, im, with commas between
        types,
        /// id of another user whose conversations are listed
        user,
    };
    fields conversation {
        /// id of the conversation
        channel: string,
    };
    fields selection {
        /// newest ts, such as 1700000000.000100
        latest?: string,
        /// includes the messages at latest and oldest
        inclusive?: boolean default false,
        /// includes the metadata of messages
        include_all_metadata?: boolean default false,
    };
    fields content {
        /// text in mrkdwn; what notifications show
        text?: string,
        /// blocks of Block Kit
        blocks?: [object],
        /// Slack's older form of rich parts
        attachments?: [object],
        /// text in Markdown, without text and blocks
        markdown_text?: string(..=12000),
    };

    /// List channels of the team
    conversations_list: GET api "/conversations.list" {
        /// Slack's parameters; types such as public_channel,private_channel
        query?: entries[cursor, exclude_archived, limit, team_id, types],
    }
    example {
        query: { types: "public_channel,private_channel", exclude_archived: true, limit: 200 },
    }
    pages "/channels" next cursor "/response_metadata/next_cursor" into "/query/cursor";

    /// Members of a conversation
    conversations_members: GET api "/conversations.members" {
        ..conversation,
        /// response_metadata.next_cursor of the previous answer
        cursor?: string,
        /// most items on a page
        limit?: integer default 100,
    }
    example { channel: "C024BE91L", limit: 200 }
    pages "/members" next cursor "/response_metadata/next_cursor" into "/cursor";

    /// Information about a channel
    conversations_info: GET api "/conversations.info" {
        ..conversation,
        /// includes the locale
        include_locale?: boolean default false,
        /// includes the number of members
        include_num_members?: boolean default false,
    }
    example { channel: "C024BE91L", include_num_members: true };

    /// Conversations the calling user may access
    users_conversations: GET api "/users.conversations" {
        /// Slack's parameters; user is a user id
        query?: entries[cursor, exclude_archived, exclude_muted, limit, team_id, types, user],
    }
    example { query: { types: "public_channel,private_channel,im", limit: 100 } }
    pages "/channels" next cursor "/response_metadata/next_cursor" into "/query/cursor";

    /// Message and event history of a conversation
    conversations_history: GET api "/conversations.history" {
        ..conversation,
        /// response_metadata.next_cursor of the previous answer
        cursor?: string,
        /// most items on a page
        limit?: integer(..=999) default 100,
        /// Unix time, for example 1700000000.000100
        oldest?: string,
        ..selection,
    }
    example { channel: "C024BE91L", limit: 50, oldest: "1700000000" }
    pages "/messages" next cursor "/response_metadata/next_cursor" into "/cursor";

    /// Thread of messages in a conversation
    conversations_replies: GET api "/conversations.replies" {
        ..conversation,
        /// ts of the parent message or of a message of the thread
        ts: string,
        /// response_metadata.next_cursor of the previous answer
        cursor?: string,
        /// most items on a page
        limit?: integer default 1000,
        /// oldest ts, such as 1700000000.000100
        oldest?: string,
        ..selection,
    }
    example { channel: "C024BE91L", ts: "1700000000.000100" }
    pages "/messages" next cursor "/response_metadata/next_cursor" into "/cursor";

    /// Create a public or private channel
    conversations_create: POST api "/conversations.create" {
        /// lower case, without blanks
        name: string,
        /// makes a private channel
        is_private?: boolean default false,
        /// id of the workspace, for an Enterprise organization
        team_id?: string,
    }
    example { name: "launch", is_private: true };

    /// Rename a conversation
    conversations_rename: POST api "/conversations.rename" {
        ..conversation,
        /// new name: lower case, without blanks
        name: string,
    }
    example { channel: "C024BE91L", name: "launch-2026" };

    /// Set the channel description
    conversations_set_purpose: POST api "/conversations.setPurpose" {
        ..conversation,
        /// the description
        purpose: string,
    }
    example { channel: "C024BE91L", purpose: "All about the launch" };

    /// Post a message
    ///
    /// A message needs one of `text`, `blocks`, `attachments` and `markdown_text`. The gateway does
    /// not post it again after a timeout.
    chat_post_message: POST api "/chat.postMessage" {
        ..conversation,
        ..content,
        /// ts of the message to reply to
        thread_ts?: string,
        /// shows the reply in the channel too
        reply_broadcast?: boolean,
        /// previews of links
        unfurl_links?: boolean,
        /// previews of media
        unfurl_media?: boolean,
        /// false: text has no markup
        mrkdwn?: boolean,
        /// {event_type, event_payload}
        metadata?: object,
    }
    via message::post
    example { channel: "C024BE91L", text: "Hello" };

    /// Change a message
    chat_update: POST api "/chat.update" {
        ..conversation,
        /// ts of the message
        ts: string,
        ..content,
    }
    example { channel: "C024BE91L", ts: "1700000000.000100", text: "Hello again" };

    /// Invite users to a channel
    conversations_invite: POST api "/conversations.invite" {
        ..conversation,
        /// user ids
        users: string | [string] joined ",",
        /// invites the valid ones if others fail
        force?: boolean,
    }
    example { channel: "C024BE91L", users: ["U1", "U2"] };

    /// Users of the team
    users_list: GET api "/users.list" {
        /// Slack's parameters
        query?: entries[cursor, include_locale, limit, team_id],
    }
    example { query: { limit: 200 } }
    pages "/members" next cursor "/response_metadata/next_cursor" into "/query/cursor";

    /// A user by id
    users_info: GET api "/users.info" {
        /// user id
        user: string,
        /// includes the locale
        include_locale?: boolean default false,
    }
    example { user: "U023BECGF" };

    /// A user by address
    users_lookup_by_email: GET api "/users.lookupByEmail" {
        /// address of the user
        email: string,
    }
    example { email: "kim@example.com" };

    /// The connected Slack user, in the common userinfo shape
    userinfo: read fn account::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
