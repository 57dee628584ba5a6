//! Teams, channels and chats of Microsoft Teams. Each operation is a method of Microsoft Graph.
//!
//! # Layout
//! - `message`: the content of a message, and the tags in it.
//! - `triggers`: messages that are written, as events.

mod message;
mod triggers;

connector_microsoft::graph! {
    /// Teams, channels, chats and messages of a Microsoft account.
    ///
    /// Entries of `query` have Microsoft's names. A list has a next page if its answer has
    /// `@odata.nextLink`. The parameter `$skiptoken` of that URL, or `$skip` if the URL has it, is
    /// the entry of `query` for the next page.
    ///
    /// Only `delete_team` needs the scope `Group.ReadWrite.All`. If the operator leaves it out,
    /// every other operation works.
    connector office_teamchat "Microsoft Teams (Graph)";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "offline_access",
            "User.Read",
            "Team.ReadBasic.All",
            "TeamMember.Read.All",
            "Channel.ReadBasic.All",
            "ChannelMessage.Read.All",
            "ChannelMessage.Send",
            "Chat.Read",
            "ChatMessage.Send",
            "Group.ReadWrite.All",
        ],
        ..connector_microsoft::OAUTH2
    });

    upstream graph "https://graph.microsoft.com/v1.0";

    header "ConsistencyLevel" "eventual" when query ["$search", "$count" unless "false"];

    inboxes connector_microsoft::subscription::INBOXES;
    triggers triggers::TRIGGERS;
    subscribe_to_channel: internal subscribe fn triggers::channel::subscribe;
    read_channel: internal read fn triggers::channel::read;
    subscribe_to_chat: internal subscribe fn triggers::chat::subscribe;
    read_chat: internal read fn triggers::chat::read;
    renew: internal renew fn triggers::renew;
    unsubscribe: internal unsubscribe fn triggers::unsubscribe;

    fields list {
        /// OData parameters; $top limits a page, $select lists properties, $filter is an expression
        query?: entries[
            "$select", "$expand", "$filter", "$search", "$orderby", "$top", "$skip", "$count", "$skiptoken",
        ],
    };
    fields message {
        /// text of the message
        content: string as "body.content",
        /// form of content
        content_type?: string as "body.contentType" one_of ["text", "html"] default "text",
        /// title
        subject?: string,
        /// mark of the message
        importance?: string one_of ["normal", "high", "urgent"],
        /// Microsoft's form: {id, mentionText, mentioned}
        mentions?: [object],
        /// Microsoft's form: {id, contentType, contentUrl, name}
        attachments?: [object],
    };

    /// Permanently delete a team and its underlying group with all data
    delete_team: DELETE graph "/groups/{team_id}" {
        /// id of the team, which is the id of its group
        team_id: string,
    }
    example { team_id: "fbe2bf47-16c8-47cf-b4a5-4b9b187c508b" };

    /// Teams the user directly belongs to (not the host team of a shared channel)
    list_joined_teams: GET graph "/me/joinedTeams" { ..list }
        example { query: {} }
        pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Properties and relationships of a team
    get_team: GET graph "/teams/{team_id}" {
        /// id of the team
        team_id: string,
        /// OData parameters; $select and $expand take names with commas between
        query?: entries["$select", "$expand"],
    }
    example { team_id: "893075dd", query: { "$select": "id,displayName" } };

    /// Members of a chat
    list_chat_members: GET graph "/chats/{chat_id}/members" {
        /// id of the chat, such as 19:…@thread.v2
        chat_id: string,
        ..list,
    }
    example { chat_id: "19:8b08@thread.v2" }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Channels of a team
    list_team_channels: GET graph "/teams/{team_id}/channels" {
        /// id of the team
        team_id: string,
        ..list,
    }
    example { team_id: "893075dd", query: { "$filter": "membershipType eq 'private'" } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Members of a team
    list_team_members: GET graph "/teams/{team_id}/members" {
        /// id of the team
        team_id: string,
        ..list,
    }
    example { team_id: "893075dd", query: { "$top": 100 } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Messages of a channel, without replies
    list_channel_messages: GET graph "/teams/{team_id}/channels/{channel_id}/messages" {
        /// id of the team
        team_id: string,
        /// id of the channel, such as 19:…@thread.tacv2
        channel_id: string,
        ..list,
    }
    example { team_id: "893075dd", channel_id: "19:4a95@thread.tacv2", query: { "$top": 20, "$expand": "replies" } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Post a message to a team channel
    ///
    /// Each mention needs its tag `<at id="…">name</at>` in `content`. The tag
    /// `<attachment id="…"></attachment>` of an attachment is appended if `content` does not have
    /// it. Content of the type `text` with mentions or attachments is sent as HTML: all but these
    /// tags is escaped. The gateway does not post the message again after a timeout.
    send_channel_message: POST graph "/teams/{team_id}/channels/{channel_id}/messages" {
        /// id of the team
        team_id: string,
        /// id of the channel, such as 19:…@thread.tacv2
        channel_id: string,
        ..message,
    }
    via message::post
    example {
        team_id: "893075dd",
        channel_id: "19:4a95@thread.tacv2",
        content: "Deployed <b>2.1</b>",
        content_type: "html",
        importance: "normal",
    };

    /// Properties of a channel
    get_channel: GET graph "/teams/{team_id}/channels/{channel_id}" {
        /// id of the team
        team_id: string,
        /// id of the channel, such as 19:…@thread.tacv2
        channel_id: string,
    }
    example { team_id: "893075dd", channel_id: "19:4a95@thread.tacv2" };

    /// Replies to a channel message
    list_channel_message_replies: GET graph "/teams/{team_id}/channels/{channel_id}/messages/{message_id}/replies" {
        /// id of the team
        team_id: string,
        /// id of the channel, such as 19:…@thread.tacv2
        channel_id: string,
        /// id of the message
        message_id: string,
        ..list,
    }
    example { team_id: "893075dd", channel_id: "19:4a95@thread.tacv2", message_id: "1616990032035" }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Reply to a channel message
    ///
    /// The fields are the same as in `send_channel_message`.
    reply_to_channel_message: POST graph "/teams/{team_id}/channels/{channel_id}/messages/{message_id}/replies" {
        /// id of the team
        team_id: string,
        /// id of the channel, such as 19:…@thread.tacv2
        channel_id: string,
        /// id of the message
        message_id: string,
        ..message,
    }
    via message::post
    example {
        team_id: "893075dd",
        channel_id: "19:4a95@thread.tacv2",
        message_id: "1616990032035",
        content: "Thanks",
    };

    /// Chats of the user
    list_chats: GET graph "/me/chats" { ..list }
        example { query: { "$expand": "lastMessagePreview", "$top": 20 } }
        pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Messages of a chat
    list_chat_messages: GET graph "/chats/{chat_id}/messages" {
        /// id of the chat, such as 19:…@thread.v2
        chat_id: string,
        ..list,
    }
    example { chat_id: "19:8b08@thread.v2", query: { "$top": 20 } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Post a message to a chat
    ///
    /// The fields are the same as in `send_channel_message`.
    send_chat_message: POST graph "/chats/{chat_id}/messages" {
        /// id of the chat, such as 19:…@thread.v2
        chat_id: string,
        ..message,
    }
    via message::post
    example { chat_id: "19:8b08@thread.v2", content: "Hello" };

    /// The connected Microsoft account, in the common userinfo shape
    userinfo: read fn connector_microsoft::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
