//! Calendars and events of Outlook. Each operation is a method of Microsoft Graph.
//!
//! # Layout
//! - `triggers`: changes of events.

mod triggers;

use connector_sdk::Fault;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

connector_microsoft::graph! {
    /// Calendars, events and free times of a Microsoft account.
    ///
    /// Entries of `query` and members of `body` have Microsoft's names. A list has a next page if
    /// its answer has `@odata.nextLink`. The parameter `$skip` of that URL, or `$skiptoken` if the
    /// URL has it, is the entry of `query` for the next page.
    connector office_calendar "Microsoft Outlook calendar (Graph)";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::OAuth2(OAuth2 {
        scopes: &["offline_access", "User.Read", "Calendars.ReadWrite"],
        ..connector_microsoft::OAUTH2
    });

    upstream graph "https://graph.microsoft.com/v1.0";

    header "ConsistencyLevel" "eventual" when query ["$search", "$count" unless "false"];

    inboxes connector_microsoft::subscription::INBOXES;
    triggers triggers::TRIGGERS;
    subscribe: internal subscribe fn triggers::subscribe;
    renew: internal renew fn triggers::renew;
    unsubscribe: internal unsubscribe fn triggers::unsubscribe;
    read_changes: internal read fn triggers::read;

    values calendar_colors [
        "auto", "lightBlue", "lightGreen", "lightOrange", "lightGray", "lightYellow", "lightTeal", "lightPink",
        "lightBrown", "lightRed", "maxColor",
    ];

    entries {
        /// such as outlook.timezone="Europe/Berlin"
        Prefer,
    };
    fields list {
        /// OData parameters; $top limits a page, $select lists properties, $filter is an expression
        query?: entries[
            "$select", "$expand", "$filter", "$search", "$orderby", "$top", "$skip", "$count", "$skiptoken",
        ],
    };
    fields selection {
        /// OData parameters; $select and $expand take names with commas between
        query?: entries["$select", "$expand"],
    };
    fields preferences {
        /// optional request headers; Prefer takes outlook.timezone="..." and outlook.body-content-type="text"|"html"
        headers?: entries[Prefer],
    };
    fields response {
        /// text for the other side
        comment?: string,
        /// tells the organizer
        send_response?: boolean as "sendResponse" default true sent,
    };

    /// Partial update of an event: subject, attendees, times, location, body, importance,
    /// reminders, online-meeting settings; only supplied fields change
    update_event: PATCH graph "/me/events/{event_id}" {
        /// id of the event
        event_id: string,
        /// members of the event to change, in Microsoft's form
        body: object,
    }
    example { event_id: "AAMkAGI1", body: { subject: "Review (moved)", location: { displayName: "Room 4" } } };

    /// Delete an event; on an organizer's meeting a cancellation goes to all attendees; irreversible
    delete_event: DELETE graph "/me/events/{event_id}" {
        /// id of the event
        event_id: string,
    }
    example { event_id: "AAMkAGI1" };

    /// Delete an event into the purge area, not reachable by mail clients
    permanently_delete_event: destructive POST graph "/me/events/{event_id}/permanentDelete" {
        /// id of the event
        event_id: string,
    }
    example { event_id: "AAMkAGI1" };

    /// The user's calendars of the default group
    list_calendars: GET graph "/me/calendars" { ..list }
        example { query: { "$select": "id,name,color", "$top": 50 } }
        pages "/value" next link "/@odata.nextLink" parameter "$skip" into "/query/$skip";

    /// Create a calendar
    create_calendar: POST graph "/me/calendars" {
        /// display name
        name: string,
        /// colour theme
        color?: string one_of calendar_colors,
    }
    example { name: "Team", color: "lightBlue" };

    /// A calendar by id
    get_calendar: GET graph "/me/calendars/{calendar_id}" {
        /// id of the calendar
        calendar_id: string,
        ..selection,
    }
    example { calendar_id: "AAMkAGI2" };

    /// Update name, colour theme or default status of a calendar
    update_calendar: PATCH graph "/me/calendars/{calendar_id}" {
        /// id of the calendar
        calendar_id: string,
        /// display name
        name?: string,
        /// colour theme
        color?: string one_of calendar_colors,
        /// makes it the default calendar
        is_default_calendar?: boolean as "isDefaultCalendar",
    }
    check changes_something
    example { calendar_id: "AAMkAGI2", name: "Team 2026" };

    /// Delete a non-default calendar with its events; the default calendar cannot be deleted
    delete_calendar: DELETE graph "/me/calendars/{calendar_id}" {
        /// id of the calendar
        calendar_id: string,
    }
    example { calendar_id: "AAMkAGI2" };

    /// Events between start and end, including occurrences, exceptions and single instances
    ///
    /// The times are in ISO 8601. Microsoft takes a time without an offset as UTC. It returns 10
    /// events, unless `$top` sets another number.
    list_events_in_time_range: GET graph "/me/calendarView" {
        /// such as 2026-03-01T00:00:00Z
        start_date_time: string as "startDateTime",
        /// such as 2026-03-08T00:00:00Z
        end_date_time: string as "endDateTime",
        ..list,
        ..preferences,
    }
    check ends_after_start
    example {
        start_date_time: "2026-03-01T00:00:00Z",
        end_date_time: "2026-03-08T00:00:00Z",
        headers: { Prefer: "outlook.timezone=\"Europe/Berlin\"" },
    }
    pages "/value" next link "/@odata.nextLink" parameter "$skip" into "/query/$skip";

    /// All events without date limits: series masters and single meetings
    list_events: GET graph "/me/events" { ..list, ..preferences }
        example { query: { "$top": 25, "$orderby": "start/dateTime" } }
        pages "/value" next link "/@odata.nextLink" parameter "$skip" into "/query/$skip";

    /// Create an event in the default calendar
    create_event: POST graph "/me/events" {
        /// event in Microsoft's form: subject, start, end, attendees
        body: object,
    }
    example {
        body: {
            subject: "Kick-off",
            start: { dateTime: "2026-03-02T10:00:00", timeZone: "UTC" },
            end: { dateTime: "2026-03-02T11:00:00", timeZone: "UTC" },
            attendees: [{ emailAddress: { address: "kim@example.com" }, type: "required" }],
        },
    };

    /// An event by id
    get_event: GET graph "/me/events/{event_id}" {
        /// id of the event
        event_id: string,
        ..selection,
        ..preferences,
    }
    example { event_id: "AAMkAGI1" };

    /// Accept an invitation
    accept_event: POST graph "/me/events/{event_id}/accept" {
        /// id of the event
        event_id: string,
        ..response,
    }
    example { event_id: "AAMkAGI1", comment: "See you" };

    /// Decline an invitation, optionally proposing another time
    decline_event: POST graph "/me/events/{event_id}/decline" {
        /// id of the event
        event_id: string,
        ..response,
        /// {start, end}, each {dateTime, timeZone}
        proposed_new_time?: object as "proposedNewTime",
    }
    example { event_id: "AAMkAGI1", comment: "Out of office" };

    /// Cancel a meeting of the organizer with a message to the attendees
    cancel_event: POST graph "/me/events/{event_id}/cancel" {
        /// id of the event
        event_id: string,
        /// text for the other side
        comment?: string,
    }
    example { event_id: "AAMkAGI1", comment: "Moved to next week" };

    /// Free and busy times of people and rooms
    get_schedule: read POST graph "/me/calendar/getSchedule" {
        /// addresses of people and rooms
        schedules: [string],
        /// {dateTime, timeZone}
        start_time: object as "startTime",
        /// {dateTime, timeZone}
        end_time: object as "endTime",
        /// minutes of a slot
        availability_view_interval?: integer(5..=1440) as "availabilityViewInterval" default 30,
    }
    example {
        schedules: ["kim@example.com"],
        start_time: { dateTime: "2026-03-02T09:00:00", timeZone: "UTC" },
        end_time: { dateTime: "2026-03-02T18:00:00", timeZone: "UTC" },
    };

    /// The connected Microsoft account, in the common userinfo shape
    userinfo: read fn connector_microsoft::userinfo example {};
}

fn changes_something(input: &UpdateCalendar) -> Result<(), Fault> {
    if input.name.is_none() && input.color.is_none() && input.is_default_calendar.is_none() {
        return Err(Fault::invalid_input("", "Give at least one of `name`, `color` and `is_default_calendar`."));
    }
    Ok(())
}

fn ends_after_start(input: &ListEventsInTimeRange) -> Result<(), Fault> {
    let time = |field: &str, text: &str| {
        let detail = "Give a date and time such as 2026-03-01T09:30:00Z. Without an offset it is UTC.";
        parse_time(text).ok_or_else(|| Fault::invalid_input(field, detail))
    };
    let start = time("/start_date_time", &input.start_date_time)?;
    if time("/end_date_time", &input.end_date_time)? < start {
        return Err(Fault::invalid_input("/end_date_time", "Give an end that is not before `start_date_time`."));
    }
    Ok(())
}

/// Reads a time as Microsoft does: the offset, the seconds, and the time of the day are optional.
fn parse_time(text: &str) -> Option<OffsetDateTime> {
    /// Length of `2026-03-01T09:30`.
    const MINUTES: usize = 16;
    let mut text = if text.len() == "2026-03-01".len() { format!("{text}T00:00") } else { text.to_owned() };
    if text.as_bytes().get(MINUTES) != Some(&b':') && text.is_char_boundary(MINUTES) {
        text.insert_str(MINUTES, ":00");
    }
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    parse(&text).or_else(|| parse(&format!("{text}Z")))
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
