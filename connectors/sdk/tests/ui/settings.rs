connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    setting undocumented: string;
    /// Name
    setting Name: string;
    /// Twice
    setting twice: string;
    /// Twice
    setting twice: string;
    /// Optional
    setting optional?: string;
    /// Place
    setting place: string in query;
    /// Sent
    setting sent: integer default 1 sent;
    /// Bounds
    setting bounded: integer(1..=5) default 9;
    /// Entries
    setting entries: entries[a];
    /// List
    setting list: [string];
    header "X-List" "{settings.list}";
    entries {
        /// Twice
        page,
        /// Twice
        page,
    };

    /// A row
    a: GET api "/a";
}

fn main() {}
