//! Files and folders of Microsoft OneDrive and of document libraries. Most operations are a method
//! of Microsoft Graph.
//!
//! # Layout
//! - `copy`: the answer to a copy.
//! - `upload`: the content of a file.
//! - `target`: the new parent or name of an item.
//! - `triggers`: changes of items, as events.

mod copy;
mod target;
mod triggers;
mod upload;

connector_microsoft::graph! {
    /// Drives, files and folders of OneDrive and SharePoint, as the connected user sees them.
    ///
    /// Every item operation takes the id of the drive. The id of the user's own drive is in the
    /// answer of `get_my_drive`. `root` is the item id of a drive's root folder. Answers are
    /// Microsoft Graph's. `@odata.nextLink` of an answer has the parameter `$skiptoken` of the next
    /// page, which goes into `query`.
    connector office_drive "Microsoft OneDrive and document libraries (Graph)";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &["offline_access", "User.Read", "Files.ReadWrite.All"],
        ..connector_microsoft::OAUTH2
    });

    upstream graph "https://graph.microsoft.com/v1.0" links connector_microsoft::FILE_HOSTS;
    header "ConsistencyLevel" "eventual" when query ["$search", "$count" unless "false"];

    inboxes connector_microsoft::subscription::INBOXES;
    triggers triggers::TRIGGERS;
    subscribe: internal subscribe fn triggers::subscribe;
    renew: internal renew fn triggers::renew;
    unsubscribe: internal unsubscribe fn triggers::unsubscribe;
    read_changes: internal read fn triggers::read;

    fields item {
        /// id of the drive
        drive_id: string,
        /// id of the file or folder, or root
        item_id: string,
    };
    fields listing {
        /// OData parameters; $top limits a page, $select lists properties, $filter is an expression
        query?: entries[
            "$select", "$expand", "$filter", "$search", "$orderby", "$top", "$skip", "$count", "$skiptoken",
        ],
    };
    fields text {
        /// search text; single quotes are doubled, then percent-encoded
        q: string odata_string,
    };
    fields conflicts {
        /// what happens if the name exists
        query?: entries[
            /// fails, replaces the other item, or renames the copy
            "@microsoft.graph.conflictBehavior" one_of ["fail", "replace", "rename"],
        ],
    };

    /// Copy a file item asynchronously with its children
    ///
    /// The answer is `{"status": "accepted", "monitor_url"}`. Poll `monitor_url` without a token:
    /// it returns `status`, `percentageComplete` and `resourceId`. If the copy is complete
    /// immediately, the answer is `{"status": "completed", "item"}`. `children_only` is for
    /// folders: it copies the children without the folder.
    copy_item: POST graph "/drives/{drive_id}/items/{item_id}/copy" {
        ..item,
        /// new parent: {driveId, id}
        parent_reference?: object as "parentReference",
        /// new name
        name?: string,
        /// copies the children without the folder
        children_only?: boolean as "childrenOnly" default false,
        /// copies all versions
        include_all_version_history?: boolean as "includeAllVersionHistory" default false,
        ..conflicts,
    }
    check target::of_copy
    via copy::begin
    example {
        drive_id: "b!abc",
        item_id: "01ABC",
        parent_reference: { driveId: "b!abc", id: "01PARENT" },
        name: "Plan (copy).docx",
        query: { "@microsoft.graph.conflictBehavior": "rename" },
    };

    /// Drives available to the user
    list_drives: GET graph "/me/drives" { ..listing }
    example { query: { "$select": "id,name,driveType" } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// A drive by id
    get_drive: GET graph "/drives/{drive_id}" {
        /// id of the drive
        drive_id: string,
    }
    example { drive_id: "b!abc" };

    /// The current user's drive, provisioned if absent and the user is licensed
    get_my_drive: GET graph "/me/drive" example {};

    /// Create a folder under a parent; returns id, name, creation time and parent reference
    create_folder: POST graph "/drives/{drive_id}/items/{parent_item_id}/children" {
        /// id of the drive
        drive_id: string,
        /// folder that gets the new one; root for the top level
        parent_item_id: string,
        /// name of the folder
        name: string,
        /// what happens when the name exists
        conflict_behavior?: string as "@microsoft.graph.conflictBehavior" one_of ["fail", "replace", "rename"]
            default "fail" sent,
    }
    fixed_body { folder: {} }
    example { drive_id: "b!abc", parent_item_id: "root", name: "Reports", conflict_behavior: "rename" };

    /// Metadata of an item by id
    get_item: GET graph "/drives/{drive_id}/items/{item_id}" {
        ..item,
        /// OData parameters; $select and $expand take names with commas between
        query?: entries["$select", "$expand"],
    }
    example { drive_id: "b!abc", item_id: "01ABC", query: { "$expand": "thumbnails" } };

    /// Children of an item
    list_children: GET graph "/drives/{drive_id}/items/{item_id}/children" { ..item, ..listing }
    example { drive_id: "b!abc", item_id: "root", query: { "$top": 100, "$orderby": "name" } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Changes of an item and its children for incremental sync; returns a next-page link or a delta link
    ///
    /// Continue with the value of `token` (or `$skiptoken`) in `@odata.nextLink`, at the end with
    /// the value in `@odata.deltaLink`. The token `latest` starts from now. Drives of work and
    /// school accounts support only the root folder. Status 410 means that the token is too old:
    /// start again without it.
    track_changes: GET graph "/drives/{drive_id}/items/{item_id}/delta" {
        ..item,
        /// OData parameters; token from the link of the previous answer
        query?: entries[
            "$select", "$expand", "$filter", "$search", "$orderby", "$top", "$skip", "$count", "$skiptoken",
            /// token of the previous answer, or latest to start now
            token,
        ],
    }
    example { drive_id: "b!abc", item_id: "root", query: { token: "latest" } }
    pages "/value" next link "/@odata.nextLink" parameter "token" into "/query/token";

    /// Search within a drive by name, metadata and content
    search_in_drive: GET graph "/drives/{drive_id}/root/search(q='{q}')" {
        /// id of the drive
        drive_id: string,
        ..text,
        ..listing,
    }
    example { drive_id: "b!abc", q: "budget", query: { "$top": 25 } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Search more broadly, including items shared with the user
    ///
    /// Items outside the user's drive have `remoteItem`. Its `id` and `parentReference.driveId` are
    /// the ids for other operations.
    search: GET graph "/me/drive/search(q='{q}')" { ..text, ..listing }
    example { q: "budget", query: { "$select": "id,name,remoteItem" } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Content of a file
    download_item: GET graph "/drives/{drive_id}/items/{item_id}/content" {
        ..item,
        /// format=pdf converts office files
        query?: entries[
            /// form to convert the file to, such as pdf
            format,
        ],
    }
    answers file
    example { drive_id: "b!abc", item_id: "01ABC" };

    /// Upload a small file into a folder, creating or replacing it
    ///
    /// An empty `content_base64` makes an empty file. The answer is the item of the file.
    upload_file: destructive fn upload::file {
        /// id of the drive
        drive_id: string(1..),
        /// id of the folder, or root
        parent_item_id: string(1..),
        /// name with extension
        file_name: string pattern r#"^[^/:*?"<>|\\]+$"#,
        /// content in base64
        content_base64: string,
        /// media type
        content_type?: string pattern "^[ -~]+$" default "application/octet-stream",
        ..conflicts,
    }
    example {
        drive_id: "b!abc",
        parent_item_id: "root",
        file_name: "a.txt",
        content_base64: "SGVsbG8=",
        content_type: "text/plain",
    };

    /// Rename or move an item
    update_item: PATCH graph "/drives/{drive_id}/items/{item_id}" {
        ..item,
        /// new name
        name?: string,
        /// new parent: {driveId, id}
        parent_reference?: object as "parentReference",
    }
    check target::of_update
    example { drive_id: "b!abc", item_id: "01ABC", name: "Plan 2.docx" };

    /// Move an item to the recycle bin
    delete_item: DELETE graph "/drives/{drive_id}/items/{item_id}" { ..item }
    example { drive_id: "b!abc", item_id: "01ABC" };

    /// Create a sharing link for an item
    create_sharing_link: POST graph "/drives/{drive_id}/items/{item_id}/createLink" {
        ..item,
        /// what the link allows
        type: string one_of ["view", "edit", "embed"],
        /// who may use the link
        scope?: string one_of ["anonymous", "organization", "users"],
        /// when the link ends
        expiration_date_time?: string as "expirationDateTime" format "date-time",
        /// password of the link
        password?: string secret,
    }
    example { drive_id: "b!abc", item_id: "01ABC", type: "view", scope: "organization" };

    /// The connected Microsoft account, in the common userinfo shape
    userinfo: read fn connector_microsoft::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
#[cfg(test)]
mod upload_tests;
