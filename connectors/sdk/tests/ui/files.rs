//! Files where they cannot be sent.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";
    /// A setting
    setting picture: file;

    /// A row that sends JSON
    json: POST api "/a" { photo: file };
    /// A row that sends a form
    form: POST api "/a" { photo: file } form;
    /// A file in the query
    query: POST api "/a" { title: string, photo: file in query } multipart;
    /// A file inside of an object
    object: POST api "/a" { about: { photo: file } } multipart;
    /// No body
    nothing: POST api "/a/{b}" multipart;
    /// A size
    size: POST api "/a" { photo: file max_bytes 5 } multipart;
    /// An example
    example: POST api "/a" { photo: file } multipart example { photo: "sea.png" };
}

fn main() {}
