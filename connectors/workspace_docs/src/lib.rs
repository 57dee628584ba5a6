//! Documents of Google Docs. Their files and comments are in Google Drive.
//!
//! # Layout
//! - `files`: the list of documents, and new documents.
//! - `export`: a document as a file.
//! - `copy`: copies content from one document into another.
//! - `markdown`: writes content from markdown.
//! - `flow`: content to be written into a document. `copy` and `markdown` make it.
//! - `source`: reads a part of a document as a flow.
//! - `place`: the place in a document at which content is inserted.
//! - `layout`: finds the indices of a flow, and makes the changes that write it.
//! - `batch`: reads documents, and sends changes.
//! - `comments`: the list of comments, and replies.
//! - `digest`: counts and excerpts of all comments of a document.
//! - `triggers`: changes of files, as events.

mod batch;
mod comments;
mod copy;
mod digest;
mod export;
mod files;
mod flow;
mod layout;
mod markdown;
mod place;
mod source;
mod triggers;

use connector_sdk::connector;

connector! {
    /// Documents of a Google account: their content, their files in Google Drive, and their comments.
    ///
    /// An index in a document counts UTF-16 code units, as in Google's API.
    connector workspace_docs "Google Docs (with Drive for files and comments)";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
            "https://www.googleapis.com/auth/drive",
        ],
        ..connector_google::OAUTH2
    });
    auth_additions connector_google::AUTH_ADDITIONS;

    upstream docs "https://docs.googleapis.com/v1";
    upstream drive "https://www.googleapis.com/drive/v3" credential standard;
    upstream oauth2 "https://www.googleapis.com/oauth2/v2";
    upstream userinfo "{oauth2}/userinfo" credential standard;

    inboxes connector_google::channel::INBOXES;
    triggers triggers::TRIGGERS;
    open_channel: internal subscribe fn triggers::subscribe;
    close_channel: internal unsubscribe fn triggers::unsubscribe;
    read_changes: internal read fn triggers::read;

    fields file {
        /// document id
        document_id: string(1..),
    };

    /// A document by id
    get_document: GET docs "/documents/{document_id}" {
        /// id of the document
        document_id: string,
        /// how suggestions are shown
        suggestions_view_mode?: string as "suggestionsViewMode" one_of [
            "DEFAULT_FOR_CURRENT_ACCESS", "SUGGESTIONS_INLINE", "PREVIEW_SUGGESTIONS_ACCEPTED",
            "PREVIEW_WITHOUT_SUGGESTIONS",
        ] default "DEFAULT_FOR_CURRENT_ACCESS",
    }
    example { document_id: "1aBcD", suggestions_view_mode: "PREVIEW_WITHOUT_SUGGESTIONS" };

    /// Documents in storage
    ///
    /// The answer is `{files, nextPageToken, incompleteSearch}`. Documents in the trash are left
    /// out.
    list_documents: read fn files::list {
        /// Drive search expression, for example name contains 'plan'
        q?: string,
        /// most items on a page
        page_size?: integer(1..=1000) default 100,
        /// nextPageToken of the previous answer
        page_token?: string,
        /// comma-separated sort keys, each optionally followed by desc
        order_by?: string,
    }
    example { q: "name contains 'plan'", page_size: 20, order_by: "modifiedTime desc,name" }
    pages "/files" next cursor "/nextPageToken" into "/page_token";

    /// Create a document
    ///
    /// The answer is the document with the members `parentFolderId` and `webViewLink`. If Google
    /// has created the document, and then cannot give it back, the answer is
    /// `{documentId, title, parentFolderId, webViewLink}`.
    create_document: write fn files::create {
        /// title of the document
        title: string,
        /// Drive folder that gets the document
        parent_folder_id?: string default "root",
    }
    example { title: "Minutes", parent_folder_id: "0AFolderId" };

    /// Update a document by batch update
    update_document: POST docs "/documents/{document_id}:batchUpdate" {
        /// id of the document
        document_id: string,
        /// Docs API update requests, applied in order, all or none
        requests: [object],
        /// {requiredRevisionId} or {targetRevisionId}
        write_control?: object as "writeControl",
    }
    example {
        document_id: "1aBcD",
        requests: [{ insertText: { location: { index: 1 }, text: "Hello\n" } }],
        write_control: { requiredRevisionId: "AOV_f48" },
    };

    /// Copy a range of content from one document into another
    ///
    /// The content keeps its styles, lists, tables, pictures and page breaks. Indices refer to the
    /// first tab's body. A paragraph that is copied in part gets the paragraph style at the target
    /// position. A range that begins or ends in a table has the whole table.
    ///
    /// The answer is
    /// `{source_id, destination_id, copied: {characters, paragraphs, tables, images}, skipped: [{type, index}], revision_id}`.
    /// `skipped` names what Google's API cannot write, with its index in the source. `paragraphs`
    /// counts paragraphs outside of tables. If the destination changes meanwhile, nothing is
    /// written and the call is a conflict.
    copy_content: write fn copy::content {
        /// document to copy from
        source_id: string,
        /// first index of the range
        start_index: integer(1..),
        /// exclusive
        end_index: integer(2..),
        /// document to copy into; may be the source
        destination_id: string(1..),
        /// index to insert at
        destination_index: integer(1..),
        /// begins on a new page
        add_page_break?: boolean default false,
    }
    example {
        source_id: "1aBcD",
        start_index: 1,
        end_index: 120,
        destination_id: "1xYz",
        destination_index: 1,
        add_page_break: true,
    };

    /// Replace a document's content from markdown
    ///
    /// Replaces the body of the first tab. Headers, footers, footnotes, other tabs and comments
    /// stay. Headings, lists, tables, links and code become formats of the document. A picture
    /// becomes its alternative text with a link to the picture. HTML stays as text.
    ///
    /// The answer is `{document_id, revision_id, paragraphs, characters, replies}`. `paragraphs`
    /// counts paragraphs outside of tables. If the document changes meanwhile, nothing is written
    /// and the call is a conflict.
    replace_content_with_markdown: write fn markdown::replace {
        /// id of the document
        document_id: string(1..),
        /// CommonMark with tables and strikethrough
        markdown: string,
    }
    example { document_id: "1aBcD", markdown: "# Title\n\nSome **bold** text.\n\n- one\n- two\n" };

    /// Comments of a document
    ///
    /// The answer is `{kind, comments, nextPageToken}`. With `modified_before` a page can have
    /// fewer comments than `page_size`.
    list_comments: read fn comments::list {
        ..file,
        /// most items on a page
        page_size?: integer(1..=100) default 30,
        /// nextPageToken of the previous answer
        page_token?: string,
        /// includes deleted comments
        include_deleted?: boolean default false assumed,
        /// oldest change
        modified_after?: string format "date-time",
        /// newest change
        modified_before?: string format "date-time",
    }
    example { document_id: "1aBcD", page_size: 50, modified_after: "2026-03-01T00:00:00Z" }
    pages "/comments" next cursor "/nextPageToken" into "/page_token";

    /// Digest of all comments of a document
    ///
    /// The answer has counts, the most active authors, the latest and the oldest open comments, and
    /// the texts that most comments are about. The texts are excerpts of the comments. The digest
    /// reads at most 2,000 comments; `truncated` is true if there are more.
    summarize_comments: read fn digest::summarize { ..file }
    example { document_id: "1aBcD" };

    /// Add an unanchored comment to a document
    create_comment: POST drive "/files/{document_id}/comments?fields=*" {
        ..file,
        /// text of the comment
        content: string,
    }
    example { document_id: "1aBcD", content: "Please check the numbers." };

    /// Reply to a comment, optionally resolving or reopening it
    ///
    /// A reply needs `content` or `action`.
    create_reply: POST drive "/files/{document_id}/comments/{comment_id}/replies?fields=*" {
        ..file,
        /// id of the comment
        comment_id: string,
        /// text of the reply
        content?: string,
        /// resolves or reopens the comment
        action?: string one_of ["resolve", "reopen"],
    }
    check comments::check_reply
    example { document_id: "1aBcD", comment_id: "AAAA", content: "Done", action: "resolve" };

    /// Export a document to another format
    ///
    /// The formats are PDF, Word, EPUB, HTML, Markdown and plain text. Google exports at most 10
    /// MB. The JSON form of a text has the member `text`.
    export_document: read fn export::document {
        ..file,
        /// format of the file
        mime_type: string one_of [
            "application/pdf", "text/plain", "text/markdown", "text/html",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/epub+zip",
            "application/zip",
        ],
    }
    example { document_id: "1aBcD", mime_type: "application/pdf" }
    answers file;

    /// The connected Google account, in the common userinfo shape
    userinfo: read fn connector_google::userinfo example {};
}

#[cfg(test)]
mod tests;
