//! Sites and files of Microsoft SharePoint for knowledge bases. `connector_microsoft::sites!` has
//! all of its rows.

connector_microsoft::sites! {
    /// Sites and document libraries of SharePoint as a knowledge base.
    ///
    /// The connector has the operations of `office_sites`, except lists. The two connectors have
    /// separate integrations, so that a knowledge base can use another account. `@odata.nextLink`
    /// of an answer has the parameter `$skiptoken` of the next page, which goes into `query`.
    connector kb_office_sites "Microsoft SharePoint sites (Graph), knowledge-base variant";
    icon "../icon.svg";

    answer_examples "answers.json";
}

#[cfg(test)]
mod operation_tests;
