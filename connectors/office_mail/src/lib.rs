//! Folders and messages of Outlook. Each operation is a method of Microsoft Graph.
//!
//! # Layout
//! - `received`: messages that are not drafts.
//! - `triggers`: messages that arrive, as events.

mod received;
mod triggers;

connector_microsoft::graph! {
    /// Mail folders and messages of a Microsoft account.
    ///
    /// Entries of `query` and members of `body` and `message` have Microsoft's names. A list has a
    /// next page if its answer has `@odata.nextLink`. The parameter `$skip` of that URL, or
    /// `$skiptoken` if the URL has it, is the entry of `query` for the next page.
    connector office_mail "Microsoft Outlook mail (Graph)";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &["offline_access", "User.Read", "Mail.ReadWrite", "Mail.Send"],
        ..connector_microsoft::OAUTH2
    });

    upstream graph "https://graph.microsoft.com/v1.0";

    header "ConsistencyLevel" "eventual" when query ["$search", "$count" unless "false"];

    inboxes connector_microsoft::subscription::INBOXES;
    triggers triggers::TRIGGERS;
    subscribe: internal subscribe fn triggers::subscribe;
    renew: internal renew fn triggers::renew;
    unsubscribe: internal unsubscribe fn triggers::unsubscribe;
    read_messages: internal read fn triggers::read;

    entries {
        /// true includes hidden folders
        includeHiddenFolders,
        /// true includes hidden messages
        includeHiddenMessages,
    };
    fields folder {
        /// folder id or a well-known name such as inbox, drafts, sentitems, archive
        mail_folder_id: string,
    };
    fields list {
        /// OData parameters; $top limits a page, $select lists properties, $filter is an expression
        query?: entries[
            "$select", "$expand", "$filter", "$search", "$orderby", "$top", "$skip", "$count", "$skiptoken",
        ],
    };
    fields list_of_folders {
        /// OData parameters; $top limits a page, $select lists properties, $filter is an expression
        query?: entries[
            includeHiddenFolders, "$select", "$expand", "$filter", "$search", "$orderby", "$top", "$skip", "$count",
            "$skiptoken",
        ],
    };

    /// Properties and relationships of a folder by id
    get_mail_folder: GET graph "/me/mailFolders/{mail_folder_id}" {
        ..folder,
        /// OData parameters; $select and $expand take names with commas between
        query?: entries[includeHiddenFolders, "$select", "$expand"],
    }
    example { mail_folder_id: "inbox", query: { "$select": "id,displayName,totalItemCount" } };

    /// Messages of the user's inbox
    ///
    /// Usual `response_fields`: `value.id`, `value.subject`, `value.from`,
    /// `value.receivedDateTime`, `@odata.nextLink`.
    list_messages: GET graph "/me/mailFolders/inbox/messages" { ..list }
        example {
            query: { "$top": 25, "$select": "subject,from,receivedDateTime", "$filter": "isRead eq false" },
        }
        pages "/value" next link "/@odata.nextLink" parameter "$skip" into "/query/$skip";

    /// Messages of a given folder, with OData-style filtering, pagination and sorting
    ///
    /// Usual `response_fields`: `value.id`, `value.subject`, `value.from`,
    /// `value.receivedDateTime`, `@odata.nextLink`.
    list_messages_in_folder: GET graph "/me/mailFolders/{mail_folder_id}/messages" { ..folder, ..list }
        example { mail_folder_id: "archive", query: { "$top": 10, "$orderby": "receivedDateTime desc" } }
        pages "/value" next link "/@odata.nextLink" parameter "$skip" into "/query/$skip";

    /// Folders directly under the root folder, including search folders; hidden folders optionally
    ///
    /// Usual `response_fields`: `value.id`, `value.displayName`, `value.unreadItemCount`,
    /// `@odata.nextLink`.
    list_mail_folders: GET graph "/me/mailFolders" { ..list_of_folders }
        example { query: { includeHiddenFolders: "true" } }
        pages "/value" next link "/@odata.nextLink" parameter "$skip" into "/query/$skip";

    /// Rename a folder (only the display name can be updated)
    update_mail_folder: PATCH graph "/me/mailFolders/{mail_folder_id}" {
        ..folder,
        /// name of the folder
        display_name: string as "displayName",
    }
    example { mail_folder_id: "AAMkAGVm", display_name: "Projects" };

    /// Child folders of a folder; hidden ones excluded unless requested
    ///
    /// Usual `response_fields`: `value.id`, `value.displayName`, `value.unreadItemCount`,
    /// `@odata.nextLink`.
    list_child_folders: GET graph "/me/mailFolders/{mail_folder_id}/childFolders" { ..folder, ..list_of_folders }
        example { mail_folder_id: "inbox", query: { includeHiddenFolders: "true" } }
        pages "/value" next link "/@odata.nextLink" parameter "$skip" into "/query/$skip";

    /// Create a real message (not a draft) in a folder; it appears there at once
    ///
    /// The message looks like a received one, unless `singleValueExtendedProperties` of `body` has
    /// its own flags (`Integer 0x0E07`).
    create_message_in_folder: POST graph "/me/mailFolders/{mail_folder_id}/messages" {
        ..folder,
        /// message in Microsoft's form: subject, body, toRecipients
        body: object,
    }
    via received::create
    example {
        mail_folder_id: "inbox",
        body: {
            subject: "Imported",
            body: { contentType: "text", content: "Hello" },
            toRecipients: [{ emailAddress: { address: "kim@example.com" } }],
        },
    };

    /// Create a folder under the root; a hidden folder cannot later be made visible
    create_mail_folder: POST graph "/me/mailFolders" {
        /// name of the folder
        display_name: string as "displayName",
        /// hides the folder
        is_hidden?: boolean as "isHidden" default false,
    }
    example { display_name: "Clients", is_hidden: false };

    /// Send a message
    ///
    /// The gateway does not send it again after a timeout.
    send_mail: POST graph "/me/sendMail" {
        /// message in Microsoft's form: subject, body, toRecipients
        message: object,
        /// keeps a copy
        save_to_sent_items?: boolean as "saveToSentItems" default true sent,
    }
    example {
        message: {
            subject: "Hello",
            body: { contentType: "Text", content: "Hello" },
            toRecipients: [{ emailAddress: { address: "kim@example.com" } }],
        },
    };

    /// A message by id
    get_message: GET graph "/me/messages/{message_id}" {
        /// id of the message
        message_id: string,
        /// OData parameters; $select and $expand take names with commas between
        query?: entries[includeHiddenMessages, "$select", "$expand"],
    }
    example { message_id: "AAMkAGI2" };

    /// Reply to a message
    reply_to_message: POST graph "/me/messages/{message_id}/reply" {
        /// id of the message
        message_id: string,
        /// text above the quoted message
        comment?: string,
        /// members of the reply in Microsoft's form, such as ccRecipients
        message?: object,
    }
    example { message_id: "AAMkAGI2", comment: "Thanks" };

    /// Move a message to another folder
    ///
    /// The folder `archive` archives it, and `deleteditems` is the trash.
    move_message: POST graph "/me/messages/{message_id}/move" {
        /// id of the message
        message_id: string,
        /// folder id or a well-known name such as archive
        destination_id: string as "destinationId",
    }
    example { message_id: "AAMkAGI2", destination_id: "archive" };

    /// Attachments of a message
    ///
    /// Usual `response_fields`: `value.id`, `value.name`, `value.size`.
    list_attachments: GET graph "/me/messages/{message_id}/attachments" {
        /// id of the message
        message_id: string,
        ..list,
    }
    example { message_id: "AAMkAGI2", query: { "$select": "id,name,size" } }
    pages "/value" next link "/@odata.nextLink" parameter "$skip" into "/query/$skip";

    /// The connected Microsoft account, in the common userinfo shape
    userinfo: read fn connector_microsoft::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
