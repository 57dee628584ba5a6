//! Messages, drafts and labels of Gmail.
//!
//! # Layout
//! - `compose`: the operations that write a message.
//! - `attachment`: the files that callers attach.
//! - `address`: the addresses that callers give.
//! - `mime`: the text of a message.
//! - `html`: HTML, and its text without tags.
//! - `delivery`: the request that sends a message to Gmail.
//! - `decode`: the operations that read a message.
//! - `base64url`: the base64 of bodies and files that Gmail sends.
//! - `attached`: the operation that reads a file of a message.
//! - `charset`: the text of a body.
//! - `labels`: the counts of labels, and the colours of a new one.
//! - `gmail`: Gmail's responses.
//! - `triggers`: events of the mailbox.

mod address;
mod attached;
mod attachment;
mod base64url;
mod charset;
mod compose;
mod decode;
mod delivery;
mod gmail;
mod html;
mod labels;
mod mime;
mod triggers;

use connector_sdk::connector;

connector! {
    /// Messages, drafts and labels of a Gmail mailbox.
    ///
    /// Entries of `query` have Google's names.
    connector workspace_mail "Gmail";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
            "https://www.googleapis.com/auth/gmail.modify",
        ],
        ..connector_google::OAUTH2
    });
    auth_additions connector_google::AUTH_ADDITIONS;

    upstream api "https://gmail.googleapis.com/gmail/v1";
    upstream upload "https://gmail.googleapis.com/upload/gmail/v1" credential standard;
    upstream oauth2 "https://www.googleapis.com/oauth2/v2";
    upstream userinfo "{oauth2}/userinfo" credential standard;

    lists repeated;

    /// Topic of Google Cloud Pub/Sub to which Gmail publishes that a mailbox has changed, as
    /// `projects/{project}/topics/{topic}`. Without it, the gateway reads the mailboxes of triggers at
    /// intervals.
    setting pubsub_topic: string pattern "^projects/[^/]+/topics/[^/]+$";
    /// Audience of the tokens with which Pub/Sub pushes, if the push subscription has another one than
    /// the URL of the inbox `pubsub`.
    setting pubsub_audience: string(1..);
    /// Email address of the service account in these tokens. Without it, no push is accepted.
    setting pubsub_service_account: string pattern "^[^@ ]+@[^@ ]+$";

    inboxes triggers::INBOXES;
    triggers triggers::TRIGGERS;
    begin_watch: internal subscribe fn triggers::begin;
    renew_watch: internal renew fn triggers::renew;
    end_watch: internal unsubscribe fn triggers::end;
    read_messages: internal read fn triggers::messages;
    read_labels: internal read fn triggers::labels;

    values label_colors [
        "#000000", "#434343", "#666666", "#999999", "#cccccc", "#efefef", "#f3f3f3", "#ffffff", "#fb4c2f", "#ffad47",
        "#fad165", "#16a766", "#43d692", "#4a86e8", "#a479e2", "#f691b3", "#f6c5be", "#ffe6c7", "#fef1d1", "#b9e4d0",
        "#c6f3de", "#c9daf8", "#e4d7f5", "#fcdee8", "#efa093", "#ffd6a2", "#fce8b3", "#89d3b2", "#a0eac9", "#a4c2f4",
        "#d0bcf1", "#fbc8d9", "#e66550", "#ffbc6b", "#fcda83", "#44b984", "#68dfa9", "#6d9eeb", "#b694e8", "#f7a7c0",
        "#cc3a21", "#eaa041", "#f2c960", "#149e60", "#3dc789", "#3c78d8", "#8e63ce", "#e07798", "#ac2b16", "#cf8933",
        "#d5ae49", "#0b804b", "#2a9c68", "#285bac", "#653e9b", "#b65775", "#822111", "#a46a21", "#aa8831", "#076239",
        "#1a764d", "#1c4587", "#41236d", "#83334c", "#464646", "#e7e7e7", "#0d3472", "#b6cff5", "#0d3b44", "#98d7e4",
        "#3d188e", "#e3d7ff", "#711a36", "#fbd3e0", "#8a1c0a", "#f2b2a8", "#7a2e0b", "#ffc8af", "#7a4706", "#ffdeb5",
        "#594c05", "#fbe983", "#684e07", "#fdedc1", "#0b4f30", "#b3efd3", "#04502e", "#a2dcc1", "#c2c2c2", "#4986e7",
        "#2da2bb", "#b99aff", "#994a64", "#f691b2", "#ff7537", "#ffad46", "#662e37", "#ebdbde", "#cca6ac", "#094228",
        "#42d692", "#16a765", "#757575", "#1e53b8", "#007286", "#7858c3", "#c2185b", "#d93025", "#54240e", "#633e04",
        "#521d28", "#202124", "#083018",
    ];

    fields message {
        /// addresses, "Name <a@b>" allowed
        to?: string | [string],
        /// addresses
        cc?: string | [string],
        /// addresses
        bcc?: string | [string],
        /// valid address of the account; send-as aliases allowed; default the account itself
        sender?: string,
        /// one line
        subject?: string pattern r"^[^\r\n]*$",
        /// plain text or HTML
        body?: string,
        /// file objects {file_name, content_type?, content_base64, content_id?}
        attachments?: [object],
        /// thread that the message belongs to
        thread_id?: string,
        /// Message-ID that it answers, with its angle brackets
        in_reply_to?: string pattern "^<[!-;=?-~]{1,900}>$",
    };
    fields format {
        /// parts of the message
        format?: string one_of ["full", "raw", "metadata", "minimal"] default "full" assumed,
    };
    fields decoding {
        /// bodies as text
        decode_body?: boolean default false,
    };

    /// Create a draft
    ///
    /// A draft has at least one recipient, a subject or a body. If `body` has a tag of HTML, it is
    /// sent as HTML, together with its text without tags. An attachment with a `content_id` is a
    /// part of the HTML, which refers to it as `cid:` and the id; other members of an attachment
    /// are ignored. A message has at most 36,700,160 bytes.
    create_draft: write fn compose::create_draft { ..message }
    example {
        to: ["kim@example.com"],
        cc: [],
        subject: "Minutes",
        body: "<p>See the attachment.</p>",
        attachments: [{ file_name: "a.txt", content_type: "text/plain", content_base64: "SGVsbG8=" }],
    };

    /// Drafts of the mailbox
    ///
    /// Usual `response_fields`: `drafts.id`, `drafts.message.id`, `nextPageToken`.
    list_drafts: GET api "/users/me/drafts" {
        /// with spam and trash
        include_spam_trash?: boolean as "includeSpamTrash" default false,
        /// size of a page
        max_results?: integer(1..=500) as "maxResults" default 100,
        /// nextPageToken
        page_token?: string as "pageToken",
        /// Gmail search; a list is joined with blanks, so all of its parts must match
        q?: string | [string] joined " " default "",
    }
    example { max_results: 20, q: ["subject:minutes", "newer_than:7d"] }
    pages "/drafts" next cursor "/nextPageToken" into "/page_token";

    /// Send a draft; it must have a valid recipient
    send_draft: POST api "/users/me/drafts/send" {
        /// id of the draft
        draft_id: string as "id",
    }
    example { draft_id: "r-123" };

    /// A draft
    ///
    /// With `decode_body`, bodies of type `text/*` are text instead of base64url, and so is `raw`. Text
    /// that Gmail hands out as UTF-8 is read as UTF-8, whatever its `Content-Type` says.
    get_draft: read fn decode::get_draft {
        /// id of the draft
        draft_id: string(1..),
        ..format,
        ..decoding,
    }
    example { draft_id: "r-123", format: "full", decode_body: true };

    /// Replace the content of a draft
    ///
    /// A field that is absent from the call becomes empty. Otherwise the rules of create_draft
    /// apply.
    update_draft: destructive fn compose::update_draft {
        /// id of the draft
        draft_id: string(1..),
        ..message,
    }
    example { draft_id: "r-123", to: ["kim@example.com"], subject: "Minutes, second version", body: "See below." };

    /// Number of messages and threads under each label
    ///
    /// `total` is the number of labels. A message may have several labels.
    total_emails_per_label: read fn labels::totals { waiting?: boolean default false }
    background
    example { waiting: true };

    /// Details of a label
    get_label: GET api "/users/me/labels/{label_id}" {
        /// id of the label, such as INBOX
        label_id: string,
    }
    example { label_id: "Label_12" };

    /// Create a label
    ///
    /// A label has both colours or neither.
    create_label: POST api "/users/me/labels" {
        /// a/b for b below a
        name: string,
        /// in the list
        label_list_visibility?: string as "labelListVisibility"
            one_of ["labelShow", "labelShowIfUnread", "labelHide"] default "labelShow" sent,
        /// in the list
        message_list_visibility?: string as "messageListVisibility" one_of ["show", "hide"] default "show" sent,
        /// user
        type?: string one_of ["user", "system"] default "user",
        /// colour of the label
        background_color?: string as "color.backgroundColor" one_of label_colors,
        /// colour of its text
        text_color?: string as "color.textColor" one_of label_colors,
    }
    check labels::both_colors_or_neither
    example {
        name: "Invoices",
        label_list_visibility: "labelShowIfUnread",
        background_color: "#16a766",
        text_color: "#ffffff",
    };

    /// A file of a message
    ///
    /// `part_id` is `partId` of a part in the answer of messages_get. Ids of attachments change from
    /// answer to answer, ids of parts do not. An inline part is a file as well. The only part of a
    /// message, whose `partId` is empty, is `0`.
    get_attachment: read fn attached::attachment {
        /// id of the message
        message_id: string(1..),
        /// The part as partId names it in the message
        part_id: string pattern r"^[0-9]+(\.[0-9]+)*$",
    }
    answers file
    no_envelope
    example { message_id: "18c2f1a9b3", part_id: "1" };

    /// A thread with its messages
    ///
    /// With `decode_body`, bodies of type `text/*` are text instead of base64url, in each message.
    ///
    /// Usual `response_fields`: `messages.id`, `messages.snippet`, `messages.payload.headers`.
    get_thread: read fn decode::get_thread {
        /// id of the thread
        thread_id: string(1..),
        /// parts of the message
        format?: string one_of ["full", "metadata", "minimal"] default "full" assumed,
        /// for the format metadata
        metadata_headers?: [string],
        /// As in messages_get, for each message
        decode_body?: boolean default false,
    }
    example { thread_id: "18c2f1a9b3", format: "metadata", metadata_headers: ["Subject", "From"] };

    /// Threads by search
    ///
    /// Usual `response_fields`: `threads.id`, `threads.snippet`, `nextPageToken`.
    list_threads: GET api "/users/me/threads" {
        /// with spam and trash
        include_spam_trash?: boolean as "includeSpamTrash" default false,
        /// ids of labels; all must match
        label_ids?: [string] as "labelIds" repeated,
        /// size of a page
        max_results?: integer(1..=500) as "maxResults" default 100,
        /// nextPageToken
        page_token?: string as "pageToken",
        /// Gmail search
        q?: string | [string] joined " " default "",
    }
    example { q: "subject:minutes", max_results: 20 }
    pages "/threads" next cursor "/nextPageToken" into "/page_token";

    /// Messages of the mailbox (ids and thread ids)
    ///
    /// Usual `response_fields`: `messages.id`, `messages.threadId`, `nextPageToken`.
    messages_list: GET api "/users/me/messages" {
        /// q is a search, such as is:unread
        query?: entries[
            /// with spam and trash
            includeSpamTrash,
            /// ids of labels; a message has all of them
            labelIds,
            /// size of a page, 1 to 500
            maxResults,
            /// nextPageToken
            pageToken,
            /// Gmail search
            q,
        ],
    }
    example { query: { q: "is:unread", maxResults: 20 } }
    pages "/messages" next cursor "/nextPageToken" into "/query/pageToken";

    /// A message
    ///
    /// With `decode_body`, bodies of type `text/*` are text instead of base64url, and so is `raw`. Text
    /// that Gmail hands out as UTF-8 is read as UTF-8, whatever its `Content-Type` says.
    ///
    /// Usual `response_fields`: `id`, `snippet`, `payload.headers`.
    messages_get: read fn decode::messages_get {
        /// id of the message
        message_id: string(1..),
        ..format,
        /// for the format metadata
        metadata_headers?: [string],
        ..decoding,
    }
    example { message_id: "18c", decode_body: true };

    /// Send a message without a draft
    ///
    /// A message has at least one recipient. Otherwise the rules of create_draft apply.
    messages_send: write fn compose::messages_send { ..message }
    example { to: ["kim@example.com"], subject: "Hello", body: "Hello" };

    /// Add labels to and remove labels from a message
    ///
    /// To archive: remove `INBOX`. To mark as read: remove `UNREAD`. To star: add `STARRED`.
    messages_modify: POST api "/users/me/messages/{message_id}/modify" {
        /// id of the message
        message_id: string,
        /// ids of labels to add
        add_label_ids?: [string](..=100) as "addLabelIds",
        /// ids of labels to remove
        remove_label_ids?: [string](..=100) as "removeLabelIds",
    }
    example { message_id: "18c", remove_label_ids: ["UNREAD"] };

    /// Labels of the mailbox
    ///
    /// Usual `response_fields`: `labels.id`, `labels.name`.
    labels_list: GET api "/users/me/labels" example {};

    /// The connected Google account, in the common userinfo shape
    userinfo: read fn connector_google::userinfo example {};
}

#[cfg(test)]
mod compose_tests;
#[cfg(test)]
mod decode_tests;
#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
