//! A table with rows of many services, each of which shows one feature. The tables of the SDKs for
//! other languages say the same.

use connector_sdk::triggers::{Event, Events, Identify, Read, Renew, Subscribe, Subscription, Unsubscribe, Value};
use connector_sdk::{Fault, Outcome, Request, connector, http};

connector! {
    /// Rows of many services.
    connector rows "Rows";

    auth Auth::OAuth2(OAuth2 {
        provider: "google",
        scopes: &["openid"],
        authorization_parameters: &[("access_type", "offline")],
        identity: Some(Identity { operation: "list_users", id: "/users/0/id", email: None, name: None }),
        ..OAuth2::STANDARD
    });

    upstream api "https://api.example.com/v1";
    upstream files "{api}/files" credential none links ["*.example-files.com"]
        pacing { interval_ms: 3000, concurrency: 1, max_wait_ms: 15000 };
    rate_limit searches 30 per 2 minutes;
    /// Path of the employees.
    setting employees_path: string default "/employees";
    /// Version of the service's API.
    setting api_version: string default "2022-11-28";
    values colors ["#000000", "#ffffff"];
    entries {
        /// words to find
        q,
    };
    lists repeated;
    answer_examples "tests/shared/answers.json";
    header "X-Api-Version" "{settings.api_version}";
    header "ConsistencyLevel" "eventual" when query ["$search", "$count" unless "false"];

    inboxes &[
        Inbox {
            name: "app",
            checks: &[Check::Hmac(HmacCheck {
                text: &[CheckPart::Literal("v0"), CheckPart::Timestamp, CheckPart::Body],
                separator: ":",
                signature: Place::Header("X-Signature"),
                prefix: "v0=",
                timestamp: Some(Place::Header("X-Timestamp")),
                ..HmacCheck::BODY
            })],
            handshakes: &[Handshake::EchoMember(EchoMember { when: ("/type", "url_verification"), member: "/challenge" })],
            id: &[Place::Pointer("/event_id")],
            kind: &[Place::Pointer("/event/type")],
            data: "/event",
            time: Some(Place::Pointer("/event_time")),
            accounts: &[AccountKey { place: Place::Pointer("/team_id"), account: "/users/0/team" }],
            visibility: Some(Visibility {
                upstream: "api",
                path: "/authorizations",
                context: "/event_context",
                parameter: "event_context",
                accounts: "/authorizations",
                cursor: ("/next", "cursor"),
            }),
            ..Inbox::APPLICATION
        },
        Inbox {
            name: "hook",
            checks: &[
                Check::Token(Place::HeaderField("X-Token", "t")),
                Check::Jwt(JwtCheck {
                    place: Place::Header("Authorization"),
                    issuers: &["https://accounts.example.com"],
                    jwks_url: "https://accounts.example.com/certs",
                    audience: JwtAudience::Setting("api_version"),
                    claims: &[("email_verified", Claim::Literal("true")), ("email", Claim::Setting("employees_path"))],
                }),
                Check::Hmac(HmacCheck::STANDARD_WEBHOOKS),
            ],
            handshakes: &[
                Handshake::EchoQuery("validationToken"),
                Handshake::HmacQuery(HmacQuery {
                    parameter: "crc_token",
                    hash: CheckHash::Sha256,
                    secret: CheckSecret::Text,
                    encoding: CheckEncoding::Base64,
                    member: "response_token",
                    prefix: "sha256=",
                }),
            ],
            decode: Some("/message/data"),
            items: Some("/value"),
            id: &[Place::Header("X-Id"), Place::BodyHash],
            kind: &[Place::Query("kind"), Place::Header("X-Kind")],
            ignored: &["sync"],
            lifecycle: &[("removed", Lifecycle::Recreate), ("missed", Lifecycle::Read)],
            max_body: 65536,
            ..Inbox::SUBSCRIPTION
        },
    ];
    triggers &[
        Trigger {
            name: "message",
            title: "Message",
            description: "A message in a channel.",
            parameters: r#"{"type":"object","properties":{"channel":{"type":"string"}},"additionalProperties":false}"#,
            payload: r#"{"type":"object","properties":{"text":{"type":"string"}}}"#,
            example: r#"{"text":"Hello"}"#,
            kinds: &["message"],
            scopes: &["messages"],
            inboxes: &["app"],
            conditions: &[
                Condition::equals_parameter("/event/channel", "/channel"),
                Condition {
                    place: Place::Pointer("/event/text"),
                    comparison: Comparison::Contains,
                    value: ConditionValue::Account("/users/0/id"),
                    pattern: "<@{}>",
                },
                Condition {
                    place: Place::Header("X-Kind"),
                    comparison: Comparison::StartsWith,
                    value: ConditionValue::Literal("message"),
                    pattern: "",
                },
            ],
            ..Trigger::CARRIED
        },
        Trigger {
            name: "change",
            title: "Change",
            parameters: r#"{"type":"object","properties":{"folder":{"type":"string"}},"required":["folder"],"additionalProperties":false}"#,
            payload: r#"{"type":"object"}"#,
            example: r#"{"id":"7"}"#,
            inboxes: &["hook"],
            key: &["folder"],
            subscribe: Some("change_subscribe"),
            renew: Some("change_renew"),
            unsubscribe: Some("change_unsubscribe"),
            read: Some("change_read"),
            recover: Some("change_recover"),
            identify: Some("change_identify"),
            requires_setting: Some("api_version"),
            lifetime_seconds: Some(86400),
            poll_seconds: 600,
            ..Trigger::READ
        },
    ];

    /// Event by its id.
    ///
    /// With all of its attendees.
    events_get: GET api "/calendars/{calendar_id}/events/{event_id}" {
        query?: entries[
            alwaysIncludeEmail,
            /// most attendees in the answer
            maxAttendees,
            q,
        ],
    }
    example { calendar_id: "primary", event_id: "abc", query: { maxAttendees: 10 } };

    /// Create an event
    events_insert: POST api "/calendars/{calendar_id}/events" {
        body: object without [attendees],
        query?: entries[sendUpdates],
    };

    /// Create a label
    create_label: POST api "/labels" {
        text_color?: string as "color.textColor" one_of colors,
        name: string(1..=225),
        visibility?: string as "labelListVisibility" one_of ["labelShow", "labelHide"] default "labelShow" sent,
        background_color?: string as "color.backgroundColor" one_of colors,
        deep?: integer as "color.inner.deep",
    };

    /// Change an issue
    update_issue: PATCH api "/issues/{number}" {
        title?: string,
        milestone?: integer as "fields.milestone" nullable,
    };

    /// Create a folder
    create_folder: POST api "/drives/{drive_id}/children" {
        name: string,
        conflict_behavior?: string as "@microsoft.graph.conflictBehavior" one_of ["fail", "rename"] default "fail" sent,
        users?: string | [string] joined ",",
        tags?: [string],
    }
    fixed_body { folder: {} };

    /// Search
    search: GET api "/me/drive/search(q='{q}')" {
        q: string odata_string,
        query?: entries["$select", "$search", "$top", "$count"],
    }
    rate_limit searches;

    /// A file
    contents: GET api "/repos/{owner}/contents/{path}?ref=main" { path: string keeps_slashes, part?: integer(1..=9) };

    /// Update a label
    update_label: PATCH api "/labels/{id}" {
        name?: string,
        text_color?: string as "color.textColor" one_of colors,
        query?: entries[fields],
    }
    check some_change;

    /// Charge a card
    charge: POST api "/charges" {
        amount: integer,
        currency?: string one_of ["eur", "usd"] default "eur" sent,
        number?: string as "card.number",
        year?: integer as "card.year",
        note?: string nullable,
        expand?: [string] as "expand[]",
        ids?: [string] joined ",",
        lines?: [object],
    }
    form
    fixed_body { source: "api", flags: { test: true } };

    /// Send a form as it is
    send_form: POST api "/forms" { body: object } form;

    /// Upload photos
    upload_photos: POST api "/albums/{album}/photos" {
        photo: file as "photo[file]",
        more?: [file],
        title: string,
        size?: integer,
        tags?: [string],
        about?: { author: string, year?: integer },
        places?: [object] as "details.places",
        note?: string nullable,
        notify?: boolean in query,
    }
    multipart
    fixed_body { source: "api" }
    example { album: "a", title: "Sea", photo: { file_name: "sea.png", content_base64: "iVBORw==" } };

    /// Items, by the header `Link`
    list_items: GET api "/items" { page?: integer } pages "" next link "Link" parameter "page" into "/page";

    /// Users
    list_users: GET api "/users" { query?: entries[customer, domain, pageToken] }
    pages "/users" next cursor "/nextPageToken" into "/query/pageToken"
    default_query { customer: "my_customer" } unless [domain];

    /// Charges, by the last item of a page
    list_charges: GET api "/charges" { query?: entries[limit, starting_after] }
    pages "/data" next last "/id" while "/has_more" into "/query/starting_after";

    /// Names, each of which leads to the next ones
    list_names: GET api "/names" { after?: string } pages "" next last "" into "/after";

    /// Events with headers
    list_events: GET api "/me/events" { trace?: string in header as "X-Trace", headers?: entries[Prefer] };

    /// Posts
    get_posts: GET api "/posts" {
        ids: [string](1..=100) joined ",",
        post_fields?: [string] as "post.fields" joined ",",
        ranges?: [string] repeated,
        limit?: integer(..=100) default 30 sent,
    };

    /// An employee
    get_employee: GET api "{settings.employees_path}/{employee_id}" { employee_id: integer };

    /// Post a message
    post_message: POST api "/messages" { text: string max_bytes 8, card?: object max_bytes 16, thread?: string in query };

    /// Post a card
    post_card: POST api "/cards" { body: object max_bytes 16 };

    /// End a call
    end_call: destructive POST api "/calls/{id}:end";

    /// Delete a thing
    delete_thing: DELETE api "/things/{id}";

    /// A list by another function
    guarded: GET api "/guarded" { limit?: integer } via guarded;

    /// Typed input
    typed: write fn typed {
        type: string,
        many?: string | [string],
        count?: integer(1..) default 5,
        flag?: boolean default true,
        filters?: entries[state, labels],
        thing?: object,
        parts?: [object],
        share?: number default 0.5 assumed,
    };

    change_subscribe: internal subscribe fn subscribe;
    change_renew: internal renew fn renew;
    change_unsubscribe: internal unsubscribe fn end rate_limit searches;
    /// Changes of a folder
    change_read: internal read fn changes;
    change_recover: internal recover fn end;
    change_identify: internal identify fn identify;
}

fn some_change(input: &UpdateLabel) -> Result<(), Fault> {
    match (&input.name, &input.text_color) {
        (None, None) => Err(Fault::invalid_input("", "Give `name` or `text_color`.")),
        _ => Ok(()),
    }
}

/// A service that reports errors with status 200.
fn guarded(request: Request) -> Result<Outcome, Fault> {
    let answer = http::send(request)?.successful()?.document()?;
    match answer.string("/error") {
        Some(code) => Err(Fault::upstream(400, code)),
        None => Ok(Outcome::ReplyDocument(answer)),
    }
}

fn typed(input: Typed) -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(format!("{input:?}")))
}

fn subscribe(input: Subscribe) -> Result<Subscription, Fault> {
    let folder: String = input.parameters.required("folder")?;
    Ok(Subscription { expires_at: Some("2026-12-04T00:00:00Z".to_owned()), ..Subscription::new(folder) })
}

fn renew(input: Renew) -> Result<Subscription, Fault> {
    Ok(Subscription { state: input.state, ..Subscription::new(input.upstream_id) })
}

fn end(_: Unsubscribe) -> Result<(), Fault> {
    Ok(())
}

fn identify(input: Identify) -> Result<Value, Fault> {
    Ok(input.parameters)
}

fn changes(input: Read) -> Result<Events, Fault> {
    let Some(cursor) = input.cursor else { return Ok(Events::none(Value::of("1")?)) };
    let event = Event { kind: "changed".to_owned(), ..Event::new("7", Value::of(&[input.limit])?) };
    Ok(Events { events: vec![event], ..Events::gap(cursor) })
}
