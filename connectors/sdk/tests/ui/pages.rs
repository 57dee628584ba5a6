connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstream api "https://api.example.com";

    /// Keyword
    a: GET api "/a" { page?: integer } pages "/items" by page_number 1 into "/page";
    /// Kind
    b: GET api "/a" { page?: integer } pages "/items" next token "/next" into "/page";
    /// Number
    c: GET api "/a" { page?: integer } pages "/items" next page_number into "/page";
    /// Parameter
    d: GET api "/a" { page?: integer } pages "/items" next link "/next" into "/page";
    /// Into
    e: GET api "/a" { page?: integer } pages "/items" next offset;
    /// Pointer
    f: GET api "/a" { page?: integer } pages "items" next cursor "next" into "page";
    /// Field
    g: GET api "/a" { page?: integer } pages "/items" next offset into "/start";
    /// Field
    h: GET api "/a" { page?: integer } pages "/items" next offset into "";
    /// Field
    i: GET api "/a" { page?: integer } pages "/items" next offset into "/page/start";
    /// Entry
    j: GET api "/a" { query?: entries[q] } pages "/items" next offset into "/query/start";
    /// Entry
    k: GET api "/a" { query?: entries[q] } pages "/items" next offset into "/query";
    /// While
    l: GET api "/a" { page?: integer } pages "/items" next last "/id" while "" into "/page";
    /// While
    m: GET api "/a" { page?: integer } pages "/items" next last "/id" while "more" into "/page";
}

fn main() {}
