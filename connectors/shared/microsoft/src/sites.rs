//! SharePoint sites: the table that `office_sites` and `kb_office_sites` have in common, and the
//! search for one site by its name.

use std::collections::HashSet;

use connector_sdk::http::{self, Error};
use connector_sdk::input::Entries;
use connector_sdk::{Document, Fault, Outcome, Request, Response, json};
use serde::Serialize;

/// Declares a connector of SharePoint sites. The macro adds the statements and rows that all of
/// these connectors have to the connector's name, title and own rows.
///
/// ```
/// # mod intranet {
/// connector_microsoft::sites! {
///     /// Sites of the intranet.
///     connector intranet "Intranet";
///
///     /// Columns of a list
///     list_columns: GET graph "/sites/{site_id}/lists/{list_id}/columns" { ..site, list_id: string };
/// }
/// # }
/// ```
#[macro_export]
macro_rules! sites {
    ($(#[$($documentation:tt)*])* connector $identifier:ident $title:tt; $($own_rows:tt)*) => {
        $crate::graph! {
            $(#[$($documentation)*])*
            connector $identifier $title;

            auth Auth::OAuth2(OAuth2 {
                scopes: &["offline_access", "User.Read", "Sites.Read.All"],
                ..$crate::OAUTH2
            });

            upstream graph "https://graph.microsoft.com/v1.0" links $crate::FILE_HOSTS;
            header "ConsistencyLevel" "eventual" when query ["$search", "$count" unless "false"];

            fields site {
                /// site id: hostname,site collection id,web id (or root)
                site_id: string,
            };
            fields page {
                /// OData parameters; $top limits a page, $skiptoken comes from @odata.nextLink
                query?: entries["$select", "$top", "$skiptoken"],
            };
            fields listing {
                /// OData; $top limits a page, $select lists properties, $filter is an expression
                query?: entries[
                    "$select", "$expand", "$filter", "$search", "$orderby", "$top", "$skip", "$count", "$skiptoken",
                ],
            };

            /// Search the tenant for sites matching keywords
            search_for_sites: GET graph "/sites" {
                /// keywords
                search: string in query,
                ..page,
            }
            example { search: "marketing" }
            pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

            /// Root site of the tenant
            get_root_site: GET graph "/sites/root" no_envelope;

            /// Site by id
            get_site_by_id: GET graph "/sites/{site_id}" { ..site }
            example {
                site_id: "contoso.sharepoint.com,2c712604-1370-44e7-a1f5-426573fda80a,2d2244c3-251a-49ea-93a8-39e1c3a060fe",
            };

            /// Site by hostname and server-relative path
            get_site_by_path: GET graph "/sites/{hostname}:/{server_relative_path}" {
                /// host of the tenant, such as contoso.sharepoint.com
                hostname: string pattern "^[A-Za-z0-9.-]+$",
                /// without leading slash, for example sites/marketing
                server_relative_path: string keeps_slashes,
            }
            example { hostname: "contoso.sharepoint.com", server_relative_path: "sites/marketing" };

            /// Subsites of a site
            list_subsites_for_a_site: GET graph "/sites/{site_id}/sites" { ..site, ..page }
            example { site_id: "root" }
            pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

            /// Document libraries of a site
            list_drives_for_a_site: GET graph "/sites/{site_id}/drives" { ..site, ..page }
            example { site_id: "root" }
            pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

            /// Search drive items by query across several fields; the spelling of the path is the reference's
            ///
            /// The search covers names, metadata and content of files. It finds what the connected
            /// user may read.
            serach_for_items_in_a_site_drive: GET graph "/sites/{site_id}/drive/root/search(q='{q}')" {
                ..site,
                /// search text; single quotes are doubled, then percent-encoded
                q: string odata_string,
                ..page,
            }
            example { site_id: "root", q: "quarterly report" }
            pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

            /// Find a site by name; returns site info with the id for use in other operations
            ///
            /// Case does not matter. `exact` of the answer is false if the site has another name,
            /// but is the only one that the search finds. If several sites have the name (409) or
            /// no site fits (404), the problem lists `candidates`.
            get_site_id_by_name: read fn site_by_name {
                /// display name or URL name of the site
                name: string pattern r"\S",
                /// OData; $top limits a page, $select lists properties, $filter is an expression
                query?: entries[
                    "$select", "$expand", "$filter", "$orderby", "$top", "$skip", "$count", "$skiptoken",
                ],
            }
            example { name: "Marketing", query: { "$select": "id,name,displayName,webUrl" } };

            /// Permission assignments (users, groups, roles) of a file or folder
            list_item_permissions: GET graph "/sites/{site_id}/drive/items/{item_id}/permissions" {
                ..site,
                /// id of the file or folder
                item_id: string,
                ..page,
            }
            example { site_id: "root", item_id: "01ABC" }
            pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

            /// Files and folders of a site's default drive
            list_items_in_site_drive: GET graph "/sites/{site_id}/drive/root/children" { ..site, ..listing }
            example {
                site_id: "root",
                query: { "$top": 50, "$orderby": "name", "$select": "id,name,folder,file" },
            }
            pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

            /// Files and folders of one folder
            list_items_in_folder: GET graph "/sites/{site_id}/drive/items/{item_id}/children" {
                ..site,
                /// id of the folder
                item_id: string,
                ..listing,
            }
            example { site_id: "root", item_id: "01FOLDER", query: { "$top": 50 } }
            pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

            /// Metadata of a file or folder
            get_item: GET graph "/sites/{site_id}/drive/items/{item_id}" {
                ..site,
                /// id of the file or folder
                item_id: string,
                /// OData parameters; $select and $expand take names with commas between
                query?: entries["$select", "$expand"],
            }
            example { site_id: "root", item_id: "01ABC" };

            /// Content of a file
            download_item: GET graph "/sites/{site_id}/drive/items/{item_id}/content" {
                ..site,
                /// id of the file or folder
                item_id: string,
            }
            answers file
            example { site_id: "root", item_id: "01ABC" };

            $($own_rows)*

            /// The connected Microsoft account, in the common userinfo shape
            userinfo: read fn $crate::userinfo example {};
        }

        fn site_by_name(
            input: GetSiteIdByName,
        ) -> ::core::result::Result<::connector_sdk::Outcome, ::connector_sdk::Fault> {
            $crate::sites::by_name(&input.name, input.query.unwrap_or_default())
        }
    };
}

/// Number of result pages of a search that are read before one site is chosen.
const PAGES: usize = 3;

/// Maximum number of candidates in a problem.
const CANDIDATES: usize = 10;

/// The properties of a site that the choice and the candidates need.
const PROPERTIES: [&str; 4] = ["id", "name", "displayName", "webUrl"];

/// Returns the site with this display name or URL name, and `exact`. `query` has further parameters
/// of the search.
///
/// # Errors
/// [`Fault::InvalidInput`] if the name is blank, [`Fault::Conflict`] if several sites have it, and
/// [`Fault::NotFound`] if no site has it and the search does not find exactly one.
pub fn by_name(name: &str, query: Entries) -> Result<Outcome, Fault> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Fault::invalid_input("/name", "Give the name of a site: this text is blank."));
    }
    let lower_case = name.to_lowercase();
    let (mut named, mut others): (Vec<Site>, Vec<Site>) =
        search(name, query)?.into_iter().partition(|site| site.is_named(&lower_case));
    match (named.len(), others.len()) {
        (1, _) => Ok(named.remove(0).answer(true)),
        (0, 1) => Ok(others.remove(0).answer(false)),
        (0, _) => Err(Fault::not_found(format!(
            "No site is named `{name}`. Give the display name or the URL name of a site, or use the id of a candidate."
        ))
        .with_members(&candidates(&others))),
        _ => Err(Fault::conflict(format!(
            "Several sites are named `{name}`. Use the id of the candidate that you mean."
        ))
        .with_members(&candidates(&named))),
    }
}

/// A site that a search found.
struct Site {
    id: String,
    document: Document,
}

impl Site {
    fn is_named(&self, lower_case: &str) -> bool {
        let is_name = |text: String| text.trim().to_lowercase() == lower_case;
        ["/displayName", "/name"].into_iter().any(|pointer| self.document.string(pointer).is_some_and(is_name))
    }

    /// The site as Graph gave it, with the member `exact`.
    fn answer(&self, exact: bool) -> Outcome {
        let site = self.document.text();
        let exact = if exact { "true" } else { "false" };
        // A site is an object, because it has an id.
        Outcome::Reply(json::with_member(&site, "exact", exact).unwrap_or(site))
    }
}

/// The sites that a search finds, each once. At most [`PAGES`] pages are read.
fn search(name: &str, query: Entries) -> Result<Vec<Site>, Fault> {
    let mut request = Request::get("graph", "/sites").query("search", name);
    let mut is_counted = false;
    for (parameter, values) in query.0 {
        let mut value = values.join(",");
        match parameter.as_str() {
            "$select" => value = with_properties(&value),
            "$count" => is_counted = value != "false",
            _ => {}
        }
        request = request.query(&parameter, value);
    }
    let mut seen = HashSet::new();
    let mut sites = Vec::new();
    for page in 1..=PAGES {
        if is_counted {
            request = request.header("ConsistencyLevel", "eventual");
        }
        let response = http::send(request)?.successful()?;
        for site in sites_of(&response)? {
            if seen.insert(site.id.clone()) {
                sites.push(site);
            }
        }
        match response.body_link("/@odata.nextLink")? {
            Some(next) if page < PAGES => request = Request::follow("graph", next),
            _ => break,
        }
    }
    Ok(sites)
}

/// The sites on a page of a search.
fn sites_of(response: &Response) -> Result<Vec<Site>, Fault> {
    let page = response.document()?;
    let Some(items) = page.pointer("/value") else {
        return Err(Error::BadAnswer("Microsoft's response to a search for sites has no `value`".to_owned()).into());
    };
    let with_id = |document: Document| match document.string("/id") {
        Some(id) => Ok(Site { id, document }),
        None => Err(Error::BadAnswer("Microsoft found a site that has no `id`".to_owned()).into()),
    };
    items.items().map(with_id).collect()
}

/// The caller's `$select` with the properties that the choice of a site needs.
fn with_properties(select: &str) -> String {
    let mut names: Vec<&str> = select.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    for property in PROPERTIES {
        if !names.contains(&property) {
            names.push(property);
        }
    }
    names.join(",")
}

/// The member of a problem that lists sites for the caller to choose from.
#[derive(Serialize)]
struct Candidates {
    candidates: Vec<Candidate>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    id: String,
    display_name: Option<String>,
    web_url: Option<String>,
}

fn candidates(sites: &[Site]) -> Candidates {
    let candidate = |site: &Site| Candidate {
        id: site.id.clone(),
        display_name: site.document.string("/displayName"),
        web_url: site.document.string("/webUrl"),
    };
    Candidates { candidates: sites.iter().take(CANDIDATES).map(candidate).collect() }
}
