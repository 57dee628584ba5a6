//! Spaces, messages and members of Google Chat. Each operation is the method of Google's API with
//! the same name.
//!
//! # Layout
//! - `triggers`: messages that are written in a space, as events.

mod triggers;

use connector_sdk::connector;

connector! {
    /// Spaces of Google Chat, their messages and their members, as the connected user sees them.
    ///
    /// Entries of `query` and members of `body` have Google's names. Of a resource name such as
    /// `spaces/abc`, an operation takes the last part, `abc`.
    connector workspace_chat "Google Chat";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
            "https://www.googleapis.com/auth/chat.spaces.readonly",
            "https://www.googleapis.com/auth/chat.spaces.create",
            "https://www.googleapis.com/auth/chat.messages",
            "https://www.googleapis.com/auth/chat.memberships",
            // Only for adding the calling app itself to a space, with the member `users/app`.
            "https://www.googleapis.com/auth/chat.memberships.app",
        ],
        ..connector_google::OAUTH2
    });
    auth_additions connector_google::AUTH_ADDITIONS;

    upstream api "https://chat.googleapis.com/v1";
    upstream oauth2 "https://www.googleapis.com/oauth2/v2";
    upstream userinfo "{oauth2}/userinfo" credential standard;

    lists repeated;

    triggers triggers::TRIGGERS;
    read_messages: internal read fn triggers::read;

    entries {
        /// NOTIFICATION_TYPE_NONE, NOTIFICATION_TYPE_FORCE_NOTIFY or NOTIFICATION_TYPE_SILENT
        "createMessageNotificationOptions.notificationType",
        /// of formattedText: MARKUP_SYNTAX_CHAT or MARKUP_SYNTAX_MARKDOWN
        markupSyntax,
        /// own id of the message: client- and more, at most 63 characters
        messageId,
        /// REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD or REPLY_MESSAGE_OR_FAIL
        messageReplyOption,
        /// createTime asc or createTime desc
        orderBy,
        /// size of a page, 1 to 1000
        pageSize,
        /// nextPageToken of the previous answer
        pageToken,
        /// unique id; a repetition creates no other message
        requestId,
        /// includes deleted messages
        showDeleted,
        /// includes Google Groups
        showGroups,
        /// includes invited members
        showInvited,
        /// deprecated; use thread.threadKey of body
        threadKey,
        /// uses the privileges of an administrator
        useAdminAccess,
    };
    fields space {
        /// id of the space, the part after spaces/
        space_id: string pattern "^[^/]+$",
    };
    fields message {
        /// id of the space, the part after spaces/
        space_id: string pattern "^[^/]+$",
        /// id of the message, the part after messages/
        message_id: string pattern "^[^/]+$",
    };
    fields membership {
        /// id of the space, the part after spaces/
        space_id: string pattern "^[^/]+$",
        /// id of the member, the part after members/
        member_id: string pattern "^[^/]+$",
    };

    /// Spaces the caller belongs to; group chats and direct messages are absent until the first message
    ///
    /// `pageSize` is at most 1000. Without it, Google returns at most 100 spaces.
    spaces_list: GET api "/spaces" {
        /// Google's parameters; filter such as spaceType = "SPACE"
        query?: entries[
            /// expression on spaceType
            filter,
            pageSize, pageToken,
        ],
    }
    example { query: { pageSize: 100, filter: "spaceType = \"SPACE\"" } }
    pages "/spaces" next cursor "/nextPageToken" into "/query/pageToken";

    /// Create a named space; topic-grouped named rooms need a workspace administrator
    spaces_create: POST api "/spaces" {
        /// spaceType and displayName are needed by the upstream
        body: object,
    }
    example { body: { spaceType: "SPACE", displayName: "Launch" } };

    /// Details of a space: type, display name, threading state, access setting, member count, creation and last-active time, customer id, URI, permission settings
    spaces_get: GET api "/spaces/{space_id}" { ..space } example { space_id: "AAAAtZLKDkk" };

    /// Create a message in a space
    ///
    /// A message has at most 32,000 bytes, text and cards included. The size of `body` as compact
    /// JSON in UTF-8 counts.
    messages_create: POST api "/spaces/{space_id}/messages" {
        ..space,
        /// Google's parameters; requestId makes a repetition safe
        query?: entries[
            "createMessageNotificationOptions.notificationType", messageId, messageReplyOption, requestId, threadKey,
        ] in query,
        /// message in Google's form, such as {text}
        body: object max_bytes 32000,
    }
    example { space_id: "AAAAtZLKDkk", query: { requestId: "7f0c" }, body: { text: "Hello" } };

    /// Messages of a space, including those of blocked members and spaces
    ///
    /// `pageSize` is at most 1000. Without it, Google returns at most 25 messages.
    messages_list: GET api "/spaces/{space_id}/messages" {
        ..space,
        /// Google's parameters; filter such as create_time > "2026-03-01T00:00:00Z"
        query?: entries[
            /// expression on create_time and thread.name
            filter,
            markupSyntax, orderBy, pageSize, pageToken, showDeleted,
        ],
    }
    example { space_id: "AAAAtZLKDkk", query: { pageSize: 50, orderBy: "createTime desc" } }
    pages "/messages" next cursor "/nextPageToken" into "/query/pageToken";

    /// A message by id
    messages_get: GET api "/spaces/{space_id}/messages/{message_id}" { ..message }
        example { space_id: "AAAAtZLKDkk", message_id: "BBBB.BBBB" };

    /// Update the text of a message
    ///
    /// A text has at most 32,000 bytes in UTF-8.
    messages_update: PATCH api "/spaces/{space_id}/messages/{message_id}?updateMask=text" {
        ..message,
        /// new text
        text: string max_bytes 32000,
    }
    example { space_id: "AAAAtZLKDkk", message_id: "BBBB.BBBB", text: "Hello again" };

    /// Delete a message
    ///
    /// The answer is `{}`.
    messages_delete: DELETE api "/spaces/{space_id}/messages/{message_id}" { ..message }
        example { space_id: "AAAAtZLKDkk", message_id: "BBBB.BBBB" };

    /// Memberships of a space; member address and name are not returned
    ///
    /// `pageSize` is at most 1000. Without it, Google returns at most 100 memberships.
    memberships_list: GET api "/spaces/{space_id}/members" {
        ..space,
        /// Google's parameters, by their names
        query?: entries[
            /// expression on role and member.type, such as role = "ROLE_MANAGER"
            filter,
            pageSize, pageToken, showGroups, showInvited, useAdminAccess,
        ],
    }
    example { space_id: "AAAAtZLKDkk", query: { pageSize: 100 } }
    pages "/memberships" next cursor "/nextPageToken" into "/query/pageToken";

    /// Create a membership for the calling app, a user, or a group, excluding adding a group
    ///
    /// A body with `groupMember` is refused. The member `users/app` is the calling app.
    memberships_create: POST api "/spaces/{space_id}/members" {
        ..space,
        /// useAdminAccess needs an administrator
        query?: entries[useAdminAccess] in query,
        /// {member: {name: users/ID, type: HUMAN}}
        body: object without [groupMember],
    }
    example { space_id: "AAAAtZLKDkk", body: { member: { name: "users/kim@example.com", type: "HUMAN" } } };

    /// Remove a user member from a space
    memberships_delete: DELETE api "/spaces/{space_id}/members/{member_id}" { ..membership }
        example { space_id: "AAAAtZLKDkk", member_id: "117" };

    /// One membership of a space
    memberships_get: GET api "/spaces/{space_id}/members/{member_id}" { ..membership }
        example { space_id: "AAAAtZLKDkk", member_id: "117" };

    /// The direct-message space with a user
    spaces_find_direct_message: GET api "/spaces:findDirectMessage" {
        /// users/{id or address}
        name: string,
    }
    example { name: "users/kim@example.com" };

    /// Create a space and add members in one call
    spaces_setup: POST api "/spaces:setup" {
        /// {space, memberships}
        body: object,
    }
    example {
        body: {
            space: { spaceType: "GROUP_CHAT" },
            memberships: [
                { member: { name: "users/kim@example.com", type: "HUMAN" } },
                { member: { name: "users/lee@example.com", type: "HUMAN" } },
            ],
        },
    };

    /// Add an emoji reaction to a message
    reactions_create: POST api "/spaces/{space_id}/messages/{message_id}/reactions" {
        ..message,
        /// one emoji
        emoji: string as "emoji.unicode",
    }
    example { space_id: "AAAAtZLKDkk", message_id: "BBBB.BBBB", emoji: "👍" };

    /// The connected Google account, in the common userinfo shape
    userinfo: read fn connector_google::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
