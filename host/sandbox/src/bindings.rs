//! Types and traits generated from `wit/connector.wit`.
#![expect(missing_docs, reason = "generated; the contract itself carries the documentation")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "connector",
    imports: {
        "gateway:connector/http.send": async | trappable,
        "gateway:connector/http.send-all": async | trappable,
        "gateway:connector/http.[method]response.body-link": async | trappable,
        "gateway:connector/http.[method]response.peek": async | trappable,
        "gateway:connector/http.[method]response.bytes": async | trappable,
        "gateway:connector/http.[method]response.text": async | trappable,
        "gateway:connector/http.[method]response.document": async | trappable,
        "gateway:connector/json.[static]document.parse": async | trappable,
        "gateway:connector/json.[method]document.pointer": async | trappable,
        "gateway:connector/json.[method]document.length": async | trappable,
        "gateway:connector/json.[method]document.keys": async | trappable,
        "gateway:connector/json.[method]document.item": async | trappable,
        "gateway:connector/json.[method]document.text": async | trappable,
        "gateway:connector/json.[method]document.as-string": async | trappable,
        "gateway:connector/storage": async | trappable,
        "gateway:connector/clock.sleep": async | trappable,
        "gateway:connector/multipart.build": async | trappable,
        "gateway:connector/row-additions.make-request": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: {
        "gateway:connector/manifest": contract,
        "gateway:connector/trigger-types": contract::trigger_types,
        "gateway:connector/http.link": super::http::Link,
        "gateway:connector/http.response": super::http::Response,
        "gateway:connector/json.document": super::document::Document,
    },
});
