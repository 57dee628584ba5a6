//! Sites, files and lists of Microsoft SharePoint. `connector_microsoft::sites!` has the rows of
//! sites and files.

connector_microsoft::sites! {
    /// Sites, document libraries and lists of SharePoint, as the connected user sees them.
    ///
    /// Answers are Microsoft Graph's. `@odata.nextLink` of an answer has the parameter `$skiptoken`
    /// of the next page, which goes into `query`.
    connector office_sites "Microsoft SharePoint sites (Graph)";
    icon "../icon.svg";

    answer_examples "answers.json";

    /// Lists of a site
    list_lists: GET graph "/sites/{site_id}/lists" { ..site, ..listing }
    example { site_id: "root" }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";

    /// Items of a list with their column values
    list_list_items: GET graph "/sites/{site_id}/lists/{list_id}/items" {
        ..site,
        /// id or title of the list
        list_id: string,
        ..listing,
    }
    example { site_id: "root", list_id: "b57af081", query: { "$expand": "fields", "$top": 100 } }
    pages "/value" next link "/@odata.nextLink" parameter "$skiptoken" into "/query/$skiptoken";
}

#[cfg(test)]
mod operation_tests;
