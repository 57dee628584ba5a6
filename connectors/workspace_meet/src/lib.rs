//! Meeting spaces, conferences and their recordings of Google Meet. Each operation is the method of
//! Google's API with the same name.
//!
//! # Layout
//! - `triggers`: conferences that end, and transcripts that are ready, as events.

mod triggers;

use connector_sdk::connector;

connector! {
    /// Meeting spaces of Google Meet, and the records of past conferences: participants, recordings and transcripts.
    ///
    /// Entries of `query` and members of `body` have Google's names. Of a resource name such as
    /// `spaces/abc`, an operation takes the last part, `abc`.
    connector workspace_meet "Google Meet";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
            "https://www.googleapis.com/auth/meetings.space.created",
            // Records of conferences in spaces that another application created.
            "https://www.googleapis.com/auth/meetings.space.readonly",
            // Settings of spaces that another application created.
            "https://www.googleapis.com/auth/meetings.space.settings",
        ],
        ..connector_google::OAUTH2
    });
    auth_additions connector_google::AUTH_ADDITIONS;

    upstream api "https://meet.googleapis.com/v2";
    upstream oauth2 "https://www.googleapis.com/oauth2/v2";
    upstream userinfo "{oauth2}/userinfo" credential standard;

    lists repeated;

    triggers triggers::TRIGGERS;
    read_conferences: internal read fn triggers::conferences;
    read_transcripts: internal read fn triggers::transcripts;

    fields conference {
        /// id of the conference, the part after conferenceRecords/
        conference_record_id: string pattern "^[^/]+$",
    };
    fields transcript {
        /// id of the conference, the part after conferenceRecords/
        conference_record_id: string pattern "^[^/]+$",
        /// id of the transcript
        transcript_id: string pattern "^[^/]+$",
    };
    entries {
        /// size of a page, 1 to 100
        pageSize,
        /// nextPageToken of the previous answer
        pageToken,
    };
    fields paging {
        /// pageToken is nextPageToken of the previous answer
        query?: entries[pageSize, pageToken],
    };

    /// Conference records, newest start time first
    ///
    /// `pageSize` is at most 100. Without it, Google returns at most 25 records.
    conference_records_list: GET api "/conferenceRecords" {
        /// Google's parameters; filter, pageSize, pageToken
        query?: entries[
            /// expression on space.meeting_code, space.name, start_time and end_time
            filter,
            pageSize, pageToken,
        ],
    }
    example { query: { pageSize: 25, filter: "space.meeting_code = \"abc-mnop-xyz\"" } }
    pages "/conferenceRecords" next cursor "/nextPageToken" into "/query/pageToken";

    /// A conference record by id
    conference_records_get: GET api "/conferenceRecords/{conference_record_id}" { ..conference }
    example { conference_record_id: "f3b9a2c1" };

    /// Participants of a conference record
    ///
    /// `pageSize` is at most 250. Without it, Google returns at most 100 participants.
    participants_list: GET api "/conferenceRecords/{conference_record_id}/participants" {
        ..conference,
        /// Google's parameters; filter, pageSize, pageToken
        query?: entries[
            /// expression on earliest_start_time and latest_end_time
            filter,
            /// size of a page, 1 to 250
            pageSize,
            pageToken,
        ],
    }
    example { conference_record_id: "f3b9a2c1", query: { pageSize: 100 } }
    pages "/participants" next cursor "/nextPageToken" into "/query/pageToken";

    /// A participant by id
    participants_get: GET api "/conferenceRecords/{conference_record_id}/participants/{participant_id}" {
        ..conference,
        /// id of the participant
        participant_id: string pattern "^[^/]+$",
    }
    example { conference_record_id: "f3b9a2c1", participant_id: "117" };

    /// Sessions of a participant
    ///
    /// `pageSize` is at most 250. Without it, Google returns at most 100 sessions.
    participant_sessions_list:
        GET api "/conferenceRecords/{conference_record_id}/participants/{participant_id}/participantSessions" {
            ..conference,
            /// id of the participant
            participant_id: string pattern "^[^/]+$",
            /// Google's parameters; filter, pageSize, pageToken
            query?: entries[
                /// expression on start_time and end_time
                filter,
                /// size of a page, 1 to 250
                pageSize,
                pageToken,
            ],
    }
        example { conference_record_id: "f3b9a2c1", participant_id: "117", query: { pageSize: 50 } }
        pages "/participantSessions" next cursor "/nextPageToken" into "/query/pageToken";

    /// A meeting space
    spaces_get: GET api "/spaces/{space_id}" {
        /// space id or meeting code
        space_id: string pattern "^[^/]+$",
    }
    example { space_id: "jQCFfuBOdN5z" };

    /// Create a meeting space
    spaces_create: POST api "/spaces" {
        /// an empty space is created when absent
        body?: object,
    }
    example { body: { config: { accessType: "TRUSTED", entryPointAccess: "ALL" } } };

    /// Recordings of a conference record
    ///
    /// `pageSize` is at most 100. Without it, Google returns at most 10 recordings.
    recordings_list: GET api "/conferenceRecords/{conference_record_id}/recordings" { ..conference, ..paging }
    example { conference_record_id: "f3b9a2c1" }
    pages "/recordings" next cursor "/nextPageToken" into "/query/pageToken";

    /// A recording with its storage links
    recordings_get: GET api "/conferenceRecords/{conference_record_id}/recordings/{recording_id}" {
        ..conference,
        /// id of the recording
        recording_id: string pattern "^[^/]+$",
    }
    example { conference_record_id: "f3b9a2c1", recording_id: "r77" };

    /// Switch automatic smart notes of a space on or off
    ///
    /// Without `query.updateMask`, the operation changes no other setting of the space.
    spaces_configure_smart_notes: PATCH api "/spaces/{space_id}" {
        /// id of the space
        space_id: string pattern "^[^/]+$",
        /// ON or OFF
        auto_smart_notes_generation: string as "config.artifactConfig.smartNotesConfig.autoSmartNotesGeneration"
            one_of ["ON", "OFF"],
        /// updateMask names other members to change
        query?: entries[
            /// paths of members to change, with commas between
            updateMask,
        ] in query,
    }
    default_query { updateMask: "config.artifactConfig.smartNotesConfig" }
    example { space_id: "jQCFfuBOdN5z", auto_smart_notes_generation: "ON" };

    /// Transcripts of a conference record
    ///
    /// `pageSize` is at most 100. Without it, Google returns at most 10 transcripts.
    transcripts_list: GET api "/conferenceRecords/{conference_record_id}/transcripts" { ..conference, ..paging }
    example { conference_record_id: "f3b9a2c1" }
    pages "/transcripts" next cursor "/nextPageToken" into "/query/pageToken";

    /// A transcript with its document link
    transcripts_get: GET api "/conferenceRecords/{conference_record_id}/transcripts/{transcript_id}" { ..transcript }
    example { conference_record_id: "f3b9a2c1", transcript_id: "t1" };

    /// Spoken entries of a transcript
    ///
    /// `pageSize` is at most 100. Without it, Google returns at most 10 entries.
    transcript_entries_list: GET api "/conferenceRecords/{conference_record_id}/transcripts/{transcript_id}/entries" {
        ..transcript,
        ..paging,
    }
    example { conference_record_id: "f3b9a2c1", transcript_id: "t1", query: { pageSize: 100 } }
    pages "/transcriptEntries" next cursor "/nextPageToken" into "/query/pageToken";

    /// End the conference that is running in a space
    ///
    /// The answer is `{}`.
    spaces_end_active_conference: POST api "/spaces/{space_id}:endActiveConference" {
        /// id of the space
        space_id: string pattern "^[^/]+$",
    }
    example { space_id: "jQCFfuBOdN5z" };

    /// The connected Google account, in the common userinfo shape
    userinfo: read fn connector_google::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
