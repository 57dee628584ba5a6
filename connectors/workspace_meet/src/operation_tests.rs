//! The request of each row. The crate `connector-google` tests `userinfo` further.

use connector_sdk::auth::Auth;
use connector_sdk::http::Body;
use connector_sdk::testing::{forwarded, pages, refused};

use crate::CONNECTOR;

#[test]
fn lists_take_the_token_of_the_next_page() {
    for (operation, ids, path) in [
        ("conference_records_list", "", "/conferenceRecords"),
        ("participants_list", r#""conference_record_id":"c","#, "/conferenceRecords/c/participants"),
        (
            "participant_sessions_list",
            r#""conference_record_id":"c","participant_id":"p","#,
            "/conferenceRecords/c/participants/p/participantSessions",
        ),
        ("recordings_list", r#""conference_record_id":"c","#, "/conferenceRecords/c/recordings"),
        ("transcripts_list", r#""conference_record_id":"c","#, "/conferenceRecords/c/transcripts"),
        (
            "transcript_entries_list",
            r#""conference_record_id":"c","transcript_id":"t","#,
            "/conferenceRecords/c/transcripts/t/entries",
        ),
    ] {
        let input = format!(r#"{{{ids}"query":{{"pageToken":"a=b"}}}}"#);
        assert_eq!(forwarded(&CONNECTOR, operation, &input).path, format!("{path}?pageToken=a%3Db"));
    }
}

#[test]
fn every_list_has_pages() {
    assert_eq!(
        pages(&CONNECTOR),
        [
            "conference_records_list: /conferenceRecords, next cursor /nextPageToken, into /query/pageToken",
            "participants_list: /participants, next cursor /nextPageToken, into /query/pageToken",
            "participant_sessions_list: /participantSessions, next cursor /nextPageToken, into /query/pageToken",
            "recordings_list: /recordings, next cursor /nextPageToken, into /query/pageToken",
            "transcripts_list: /transcripts, next cursor /nextPageToken, into /query/pageToken",
            "transcript_entries_list: /transcriptEntries, next cursor /nextPageToken, into /query/pageToken",
        ]
    );
}

#[test]
fn a_space_is_created_without_a_body() {
    assert!(forwarded(&CONNECTOR, "spaces_create", "{}").body.is_none());
}

#[test]
fn the_mask_of_smart_notes_can_be_replaced() {
    let input =
        r#"{"space_id":"s","auto_smart_notes_generation":"OFF","query":{"updateMask":"config.artifactConfig"}}"#;
    let request = forwarded(&CONNECTOR, "spaces_configure_smart_notes", input);
    assert_eq!(request.path, "/spaces/s?updateMask=config.artifactConfig");
    let body = r#"{"config":{"artifactConfig":{"smartNotesConfig":{"autoSmartNotesGeneration":"OFF"}}}}"#;
    assert!(matches!(request.body, Some(Body::Json(text)) if text == body));
}

#[test]
fn an_id_stays_within_its_segment() {
    assert_eq!(forwarded(&CONNECTOR, "spaces_get", r#"{"space_id":"a/b:c?d"}"#).path, "/spaces/a%2Fb%3Ac%3Fd");
    for (operation, input, pointer) in [
        ("spaces_get", r#"{"space_id":""}"#, "/space_id"),
        ("conference_records_get", r#"{"conference_record_id":".."}"#, "/conference_record_id"),
        ("recordings_get", r#"{"conference_record_id":"c","recording_id":"../x"}"#, "/recording_id"),
    ] {
        assert_eq!(refused(&CONNECTOR, operation, input)[0].pointer, pointer);
    }
}

#[test]
fn userinfo_is_the_common_shape() {
    connector_google::testing::check_userinfo(&CONNECTOR);
}

#[test]
fn the_user_grants_the_scopes_of_the_operations() {
    let Auth::OAuth2(client) = &CONNECTOR.auth else { panic!("OAuth 2.0") };
    let meet = client.scopes.iter().filter_map(|scope| scope.strip_prefix("https://www.googleapis.com/auth/meetings."));
    assert_eq!(meet.collect::<Vec<_>>(), ["space.created", "space.readonly", "space.settings"]);
}
