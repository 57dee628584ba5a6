//! {{title}}, from its OpenAPI document.

connector_sdk::connector! {
    {{table}}
}

{{test}}
