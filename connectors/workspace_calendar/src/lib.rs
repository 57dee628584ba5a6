//! Calendars and events of Google Calendar. Each operation is the method of Google's API with the
//! same name.
//!
//! # Layout
//! - `triggers`: changes of events.

mod triggers;

use connector_sdk::connector;

connector! {
    /// Calendars, events and free times of a Google account.
    ///
    /// Entries of `query` and members of `body` have Google's names.
    connector workspace_calendar "Google Calendar";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &[
            "openid",
            "https://www.googleapis.com/auth/userinfo.email",
            "https://www.googleapis.com/auth/userinfo.profile",
            "https://www.googleapis.com/auth/calendar.calendars.readonly",
            "https://www.googleapis.com/auth/calendar.calendarlist.readonly",
            "https://www.googleapis.com/auth/calendar.freebusy",
            "https://www.googleapis.com/auth/calendar.events",
        ],
        ..connector_google::OAUTH2
    });
    auth_additions connector_google::AUTH_ADDITIONS;

    upstream api "https://www.googleapis.com/calendar/v3";
    upstream oauth2 "https://www.googleapis.com/oauth2/v2";
    upstream userinfo "{oauth2}/userinfo" credential standard;

    lists repeated;

    inboxes connector_google::channel::INBOXES;
    triggers triggers::TRIGGERS;
    open_channel: internal subscribe fn triggers::subscribe;
    close_channel: internal unsubscribe fn triggers::unsubscribe;
    read_changes: internal read fn triggers::read;

    entries {
        /// deprecated; without effect
        alwaysIncludeEmail,
        /// 1 takes the conference of body, 0 ignores it
        conferenceDataVersion,
        /// 1 takes eventLabelId of body, 0 takes colorId
        eventLabelVersion,
        /// birthday, default, focusTime, fromGmail, outOfOffice or workingLocation
        eventTypes,
        /// id of the event in iCalendar
        iCalUID,
        /// most attendees in the answer
        maxAttendees,
        /// size of a page, 1 to 2500
        maxResults,
        /// freeBusyReader, reader, writerWithoutPrivateAccess, writer or owner
        minAccessRole,
        /// updated, or startTime with singleEvents
        orderBy,
        /// original start of the instance
        originalStart,
        /// nextPageToken of the previous answer
        pageToken,
        /// private property of the events, as name=value
        privateExtendedProperty,
        /// words in texts, places and people
        q,
        /// deprecated; use sendUpdates
        sendNotifications,
        /// guests to notify: all, externalOnly or none
        sendUpdates,
        /// shared property of the events, as name=value
        sharedExtendedProperty,
        /// includes deleted items
        showDeleted,
        /// includes hidden calendars
        showHidden,
        /// includes hidden invitations
        showHiddenInvitations,
        /// only calendars of the user's organization
        showOwnOrganizationOnly,
        /// instances in place of recurring events
        singleEvents,
        /// true takes the attachments of body
        supportsAttachments,
        /// nextSyncToken of an earlier answer, for changes since then
        syncToken,
        /// events that start before it, such as 2026-04-01T00:00:00Z
        timeMax,
        /// events that end after it, such as 2026-03-01T00:00:00Z
        timeMin,
        /// time zone of the answer, such as Europe/Berlin
        timeZone,
        /// events that changed since, such as 2026-03-01T00:00:00Z
        updatedMin,
    };
    fields calendar {
        /// primary is accepted for the main calendar of the user
        calendar_id: string,
    };
    fields notifications {
        /// sendUpdates is all, externalOnly or none
        query?: entries[sendNotifications, sendUpdates] in query,
    };
    fields changes {
        /// Google's parameters; sendUpdates is all, externalOnly or none
        query?: entries[
            alwaysIncludeEmail, conferenceDataVersion, eventLabelVersion, maxAttendees, sendNotifications,
            sendUpdates, supportsAttachments,
        ] in query,
    };

    /// Metadata of a calendar
    calendars_get: GET api "/calendars/{calendar_id}" { ..calendar }
    example { calendar_id: "primary" };

    /// Calendars on the user's calendar list
    calendarlist_list: GET api "/users/me/calendarList" {
        /// Google's parameters, by their names
        query?: entries[
            /// size of a page, 1 to 250
            maxResults,
            minAccessRole, pageToken, showDeleted, showHidden, showOwnOrganizationOnly, syncToken,
        ],
    }
    example { query: { maxResults: 50, showHidden: true } }
    pages "/items" next cursor "/nextPageToken" into "/query/pageToken";

    /// One calendar of the user's list
    calendarlist_get: GET api "/users/me/calendarList/{calendar_id}" { ..calendar }
    example { calendar_id: "primary" };

    /// Free and busy times of a set of calendars
    ///
    /// Google needs `timeMin` and `timeMax`. `groupExpansionMax` is at most 100, and
    /// `calendarExpansionMax` at most 50.
    freebusy_query: read POST api "/freeBusy" {
        /// {timeMin, timeMax, items: [{id}]}
        body: object,
    }
    example {
        body: {
            timeMin: "2026-03-02T08:00:00Z",
            timeMax: "2026-03-02T18:00:00Z",
            items: [{ id: "primary" }],
        },
    };

    /// Event by its id in the calendar service
    events_get: GET api "/calendars/{calendar_id}/events/{event_id}" {
        ..calendar,
        /// id of the event
        event_id: string,
        /// Google's parameters; timeZone such as Europe/Berlin
        query?: entries[alwaysIncludeEmail, maxAttendees, timeZone],
    }
    example { calendar_id: "primary", event_id: "abc123def456", query: { timeZone: "Europe/Berlin" } };

    /// Delete an event from a calendar
    ///
    /// The answer is `{}`.
    events_delete: DELETE api "/calendars/{calendar_id}/events/{event_id}" {
        ..calendar,
        /// id of the event
        event_id: string,
        ..notifications,
    }
    example { calendar_id: "primary", event_id: "abc123def456", query: { sendUpdates: "all" } };

    /// Overwrite an existing event; the whole event object must be supplied to change any one field
    events_update: destructive PUT api "/calendars/{calendar_id}/events/{event_id}" {
        ..calendar,
        /// id of the event
        event_id: string,
        ..changes,
        /// the complete event; parts left out are removed
        body: object,
    }
    example {
        calendar_id: "primary",
        event_id: "abc123def456",
        query: { sendUpdates: "none" },
        body: {
            summary: "Review",
            start: { dateTime: "2026-03-02T10:00:00+01:00" },
            end: { dateTime: "2026-03-02T11:00:00+01:00" },
        },
    };

    /// Create an event in a calendar
    events_insert: POST api "/calendars/{calendar_id}/events" {
        ..calendar,
        /// Google's parameters; conferenceDataVersion 1 takes a conference
        query?: entries[
            conferenceDataVersion, eventLabelVersion, maxAttendees, sendNotifications, sendUpdates,
            supportsAttachments,
        ] in query,
        /// event in Google's form: summary, start, end, attendees
        body: object,
    }
    example {
        calendar_id: "primary",
        query: { conferenceDataVersion: 1 },
        body: {
            summary: "Kick-off",
            start: { dateTime: "2026-03-02T10:00:00+01:00" },
            end: { dateTime: "2026-03-02T11:00:00+01:00" },
        },
    };

    /// Events of a calendar
    ///
    /// `maxResults` is at most 2500. Without it, Google returns at most 250 events.
    events_list: GET api "/calendars/{calendar_id}/events" {
        ..calendar,
        /// Google's parameters; timeMin and timeMax such as 2026-03-01T00:00:00Z
        query?: entries[
            alwaysIncludeEmail, eventTypes, iCalUID, maxAttendees, maxResults, orderBy, pageToken,
            privateExtendedProperty, q, sharedExtendedProperty, showDeleted, showHiddenInvitations, singleEvents,
            syncToken, timeMax, timeMin, timeZone, updatedMin,
        ],
    }
    example {
        calendar_id: "primary",
        query: {
            timeMin: "2026-03-01T00:00:00Z",
            timeMax: "2026-04-01T00:00:00Z",
            singleEvents: true,
            orderBy: "startTime",
        },
    }
    pages "/items" next cursor "/nextPageToken" into "/query/pageToken";

    /// Change only the given parts of an event
    events_patch: PATCH api "/calendars/{calendar_id}/events/{event_id}" {
        ..calendar,
        /// id of the event
        event_id: string,
        ..changes,
        /// members of the event to change, in Google's form
        body: object,
    }
    example { calendar_id: "primary", event_id: "abc123def456", body: { location: "Room 4" } };

    /// Instances of a recurring event
    events_instances: GET api "/calendars/{calendar_id}/events/{event_id}/instances" {
        ..calendar,
        /// id of the event
        event_id: string,
        /// Google's parameters; timeMin and timeMax such as 2026-03-01T00:00:00Z
        query?: entries[
            alwaysIncludeEmail, maxAttendees, maxResults, originalStart, pageToken, showDeleted, timeMax, timeMin,
            timeZone,
        ],
    }
    example { calendar_id: "primary", event_id: "abc123def456", query: { maxResults: 10 } }
    pages "/items" next cursor "/nextPageToken" into "/query/pageToken";

    /// Move an event to another calendar
    events_move: POST api "/calendars/{calendar_id}/events/{event_id}/move" {
        ..calendar,
        /// id of the event
        event_id: string,
        /// calendar id of the target
        destination: string(1..) in query,
        ..notifications,
    }
    example { calendar_id: "primary", event_id: "abc123def456", destination: "team@group.calendar.google.com" };

    /// Create an event from one line of text
    events_quick_add: POST api "/calendars/{calendar_id}/events/quickAdd" {
        ..calendar,
        /// what, when and where
        text: string(1..) in query,
        ..notifications,
    }
    example { calendar_id: "primary", text: "Lunch with Kim tomorrow 12:30" };

    /// The connected Google account, in the common userinfo shape
    userinfo: read fn connector_google::userinfo example {};
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
