// The SDK for connectors in JavaScript. `README.md` shows a table; `TABLE.md` of the Rust SDK
// describes each word.

export * as auth from "./auth.js";
export {
  none, oauth2, api_key, USERINFO, client_credentials, service_account, app_installation, device_code, aws_signature, hmac_signature,
  ended_codes,
} from "./auth.js";
export { base64, utf8 } from "./bytes.js";
export { Fault } from "./fault.js";
export { string, integer, number, boolean, list, string_or_list, object, file, entries } from "./fields.js";
export { Document, HttpError, Request, Response, send, sendAll } from "./http.js";
export { Mistake } from "./mistake.js";
export { File, userinfo } from "./outcome.js";
export { pages } from "./pages.js";
export { retry } from "./retry.js";
export { get, head, post, put, patch, del, read, write, destructive, internal } from "./rows.js";
export { clock, log, progress, storage } from "./services.js";
export { connector } from "./table.js";
