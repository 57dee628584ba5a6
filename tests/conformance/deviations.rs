//! Known differences between requests and specifications, and why the requests are right. Known
//! operations that cannot be checked.

use crate::check::Violation;

/// A difference that is right.
pub(crate) struct Deviation {
    /// `connector/operation`, or the beginning of several.
    pub(crate) operation: &'static str,
    /// The part of the request.
    pub(crate) place: &'static str,
    /// Why the request is right.
    pub(crate) why: &'static str,
}

impl Deviation {
    /// Returns `true` if a violation is this difference.
    pub(crate) fn is(&self, violation: &Violation) -> bool {
        violation.operation.starts_with(self.operation) && violation.place == self.place
    }
}

/// The known differences. Each must still be there.
pub(crate) const DEVIATIONS: &[Deviation] = &[
    Deviation {
        operation: "workspace_identity/token_info",
        place: "/body",
        why: "the access token is in a form, so that no log of URLs has it",
    },
    Deviation {
        operation: "workspace_identity/token_info",
        place: "/content_type",
        why: "the access token is in a form, so that no log of URLs has it",
    },
    Deviation { operation: "office_sites/", place: "/query/$skiptoken", why: SKIP_TOKEN },
    Deviation { operation: "kb_office_sites/", place: "/query/$skiptoken", why: SKIP_TOKEN },
    Deviation { operation: "office_calendar/", place: "/query/$skiptoken", why: SKIP_TOKEN },
    Deviation { operation: "office_mail/", place: "/query/$skiptoken", why: SKIP_TOKEN },
    Deviation { operation: "office_teamchat/", place: "/query/$skiptoken", why: SKIP_TOKEN },
    Deviation { operation: "office_drive/", place: "/query/$skiptoken", why: SKIP_TOKEN },
    Deviation {
        operation: "office_mail/send_mail",
        place: "/body/message/body/contentType",
        why: "the service takes the names of enumerations in either case, and its documentation has `Text`",
    },
    Deviation {
        operation: "office_drive/copy_item",
        place: "/query/@microsoft.graph.conflictBehavior",
        why: "an annotation, which the documentation of the method has",
    },
    Deviation {
        operation: "office_drive/create_folder",
        place: "/body/@microsoft.graph.conflictBehavior",
        why: "an annotation, which the documentation of the method has",
    },
    Deviation {
        operation: "office_drive/upload_file",
        place: "/query/@microsoft.graph.conflictBehavior",
        why: "an annotation, which the documentation of the method has",
    },
    Deviation {
        operation: "office_drive/upload_file",
        place: "/content_type",
        why: "the service keeps the media type of the file",
    },
    Deviation {
        operation: "office_drive/track_changes",
        place: "/query/token",
        why: "the documentation has the parameter; the specification has it as the argument of a function",
    },
    Deviation {
        operation: "office_drive/download_item",
        place: "/query/format",
        why: "the documentation has the parameter on a separate page, about the conversion of files",
    },
];

const SKIP_TOKEN: &str = "the service puts this parameter into the link to the next page";

/// Operations that cannot be checked, or not all of them, or the beginning of several. The result
/// says why. Each must still be so.
pub(crate) const UNCHECKED: &[&str] =
    &["hr_platform/", "preprint_archive/", "office_teamchat/delete_team", "code_hosting/search_issues"];
