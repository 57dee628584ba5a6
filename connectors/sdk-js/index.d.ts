// Types for authors of connectors. `TABLE.md` of the Rust SDK describes each word of a table.

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Modifiers that every field can have. */
export interface Modifiers {
  doc?: string;
  in?: "path" | "query" | "body" | "header";
  as?: string;
  default?: Json;
  sent?: boolean;
  assumed?: boolean;
  nullable?: boolean;
  secret?: boolean;
}
interface Bounds {
  min?: number;
  max?: number;
}
interface Text {
  one_of?: readonly string[];
  pattern?: string;
  format?: string;
  max_bytes?: number;
}
interface Lists {
  joined?: string;
  repeated?: boolean;
}

/** A type of a field. `T` is its value in the input of a function. */
export interface Field<T> {
  readonly kind: string;
  readonly __value?: T;
}
export type Fields = Record<string, Field<unknown>>;

type Value<F> = F extends Field<infer T> ? T : never;
type Optional<F> = { [K in keyof F as K extends `${infer N}?` ? N : never]?: Value<F[K]> };
type Required<F> = { [K in keyof F as K extends `${string}?` ? never : K]: Value<F[K]> };
/** The input of a function with these fields. A name with `?` at its end is an optional member. */
export type Input<F> = Required<F> & Optional<F>;

export function string(modifiers?: Modifiers & Bounds & Text & { keeps_slashes?: boolean; odata_string?: boolean }): Field<string>;
export function integer(modifiers?: Modifiers & Bounds): Field<number>;
export function number(modifiers?: Modifiers & Bounds): Field<number>;
export function boolean(modifiers?: Modifiers): Field<boolean>;
export function list<T>(item: Field<T>, modifiers?: Modifiers & Bounds & Lists): Field<T[]>;
export function string_or_list(modifiers?: Modifiers & Bounds & Text & Lists): Field<string[]>;
export function object(fields?: undefined, modifiers?: Modifiers & { without?: string[]; max_bytes?: number }): Field<{ [name: string]: any }>;
export function object<const F extends Fields>(fields: F, modifiers?: Modifiers & { max_bytes?: number }): Field<Input<F>>;
/** A file of a caller. */
export interface GivenFile {
  file_name: string;
  content_type?: string | null;
  content_base64: string;
}
export function file(modifiers?: Modifiers): Field<GivenFile>;
export function entries(
  names: readonly (string | Record<string, readonly string[] | { one_of?: readonly string[]; doc?: string }>)[],
  modifiers?: Modifiers & Lists,
): Field<{ [name: string]: string[] }>;

/**
 * How callers read further pages. All but `parameter` and `page_number` are JSON Pointers. `link` is
 * `"Link"` if the URL is in the header of this name. `last` leads from the last item of a page, and
 * `while` to a boolean of the answer that is false or absent on the last page.
 */
export type Pages = { items: string; into: string } & (
  | { cursor: string }
  | { link: string; parameter: string }
  | { page_number: number }
  | { offset: true }
  | { last: string; while?: string }
);
export type Effect = "read" | "write" | "destructive";

interface Clauses<F extends Fields> {
  /** What the operation does. The first paragraph is the summary. */
  doc: string;
  fields?: F;
  example?: { [name: string]: Json };
  rate_limit?: string;
  pages?: Pages;
  answers?: "json" | "file" | "any";
  answer_schema?: { [name: string]: Json };
  no_envelope?: boolean;
  background?: boolean;
}
interface RequestClauses<F extends Fields> extends Clauses<F> {
  effect?: Effect;
  /** The body is sent as a form (`application/x-www-form-urlencoded`), and not as JSON. */
  form?: boolean;
  /** The body is sent as a form with files (`multipart/form-data`). */
  multipart?: boolean;
  check?: (input: Input<F>) => void;
  via?: (request: Request) => Outcome;
  fixed_body?: { [name: string]: Json };
  default_query?: { [name: string]: Json };
  default_query_unless?: string[];
}
/** An operation of a table. */
export interface Row {
  readonly action: object;
}
type RequestRow = <const F extends Fields>(upstream: string, path: string, clauses: RequestClauses<F>) => Row;
export const get: RequestRow;
export const head: RequestRow;
export const post: RequestRow;
export const put: RequestRow;
export const patch: RequestRow;
export const del: RequestRow;

/** What a function returns: a request to forward, a document, a file, or any value as JSON. */
export type Outcome = Request | Document | File | Json | object;
type FunctionRow = <const F extends Fields = {}>(run: (input: Input<F>) => Outcome, clauses: Clauses<F>) => Row;
export const read: FunctionRow;
export const write: FunctionRow;
export const destructive: FunctionRow;

/** The input of a function that a trigger names. A member that is null is absent. */
export interface Roles {
  subscribe: { parameters: { [name: string]: any }; kinds: string[] };
  renew: { upstream_id: string; state?: any; parameters: { [name: string]: any }; kinds: string[] };
  unsubscribe: { upstream_id: string; state?: any; parameters: { [name: string]: any } };
  read: { parameters: { [name: string]: any }; cursor?: any; hint?: any; limit: number };
  recover: { upstream_id: string; state?: any; parameters: { [name: string]: any } };
  identify: { parameters: { [name: string]: any } };
}
/** A subscription at the service. `cursor` and `state` are any JSON. */
export interface Subscription {
  upstream_id: string;
  /** RFC 3339. */
  expires_at?: string;
  cursor?: any;
  state?: any;
}
/** Events that were read. Without a cursor in the input, there are none, and the cursor stands for now. */
export interface ReadEvents {
  events?: { id: string; kind?: string; time?: string; data: unknown }[];
  cursor: unknown;
  more?: boolean;
  gap?: boolean;
}
interface Answers {
  subscribe: Subscription;
  renew: Subscription;
  unsubscribe: void;
  read: ReadEvents;
  recover: void;
  identify: { [name: string]: unknown };
}
/** An operation that a trigger names, and that callers cannot run. */
export function internal<R extends keyof Roles>(
  role: R,
  run: (input: Roles[R]) => Answers[R],
  clauses?: { doc?: string; rate_limit?: string },
): Row;

/** The place of a value in a notification. */
export type Place =
  { header: string } | { header_field: readonly [string, string] } | { pointer: string } | { query: string } | "body_hash";
/** A proof that a notification comes from the service. */
export type Check =
  | {
      hmac: {
        hash?: "sha1" | "sha256" | "sha512"; secret?: "text" | "base64"; encoding?: "hex" | "base64";
        text?: ("body" | "timestamp" | { header: string } | { literal: string })[];
        separator?: string; signature: Place; prefix?: string; list_separator?: string; timestamp?: Place; tolerance_seconds?: number;
      };
    }
  | { token: Place }
  | {
      jwt: {
        place: Place; issuers: string[]; jwks_url: string; audience?: "address" | { setting: string };
        claims?: Record<string, string | { setting: string }>;
      };
    };
/** A request by which the service proves that the address is the gateway's. */
export type Handshake =
  | { echo_query: string }
  | { echo_member: { when: readonly [string, string]; member: string } }
  | {
      hmac_query: {
        parameter: string; hash?: "sha1" | "sha256" | "sha512"; secret?: "text" | "base64"; encoding?: "hex" | "base64"; member: string;
        prefix?: string;
      };
    };
/** How the service notifies the gateway. The module `triggers` of the Rust SDK describes the members. */
export interface Inbox {
  name: string;
  scope?: "application" | "subscription";
  checks: Check[];
  handshakes?: Handshake[];
  decode?: string;
  items?: string;
  id: Place[];
  kind: Place[];
  data?: string;
  time?: Place;
  accounts?: { place: Place; account: string }[];
  visibility?: { upstream: string; path: string; context: string; parameter: string; accounts: string; cursor: readonly [string, string] };
  ignored?: string[];
  lifecycle?: Record<string, "reauthorize" | "recreate" | "read" | "gone">;
  max_body?: number;
}
/** A type of events. `subscribe` and the five after it are the names of operations that are `internal`. */
export interface Trigger {
  name: string;
  title: string;
  description?: string;
  parameters?: { [name: string]: Json };
  payload?: { [name: string]: Json };
  example?: Json;
  source: "carried" | "read";
  kinds?: string[];
  scopes?: string[];
  inboxes?: string[];
  key?: string[];
  conditions?: {
    place: Place; comparison?: "equals" | "contains" | "starts_with"; value: { parameter: string } | { account: string } | { literal: string };
    pattern?: string;
  }[];
  subscribe?: string;
  renew?: string;
  unsubscribe?: string;
  read?: string;
  recover?: string;
  identify?: string;
  requires_setting?: string;
  lifetime_seconds?: number;
  poll_seconds?: number;
}

export interface Auth {
  readonly tag: string;
}
export interface Identity {
  operation: string;
  id: string;
  email?: string;
  name?: string;
}
export const none: Auth;
export const USERINFO: Identity;
export function oauth2(client: {
  provider: string;
  authorization_url?: string;
  token_url?: string;
  refresh_url?: string;
  revocation?: { form: string } | { bearer: string } | { delete: string };
  scopes?: string[];
  scope_separator?: string;
  scope_parameter?: string;
  authorization_parameters?: Record<string, string>;
  token_parameters?: Record<string, string>;
  pkce?: boolean;
  client_authentication?: "body" | "basic";
  token_pointer?: string;
  default_lifetime_seconds?: number;
  form_field?: string;
  revokes_replaced_grants?: boolean;
  identity?: Identity;
}): Auth;
export function api_key(
  key: ({ header: string; prefix?: string } | { query: string } | { basic: true }) & { form_field?: string; check?: string },
): Auth;

/** A declaration in addition to `auth`, such as a way in which an account gets access tokens. */
export interface AuthAddition {
  readonly tag: string;
}
/** Accounts bring a client id and a client secret. */
export function client_credentials(): AuthAddition;
/** Accounts bring the key file of a service account, which acts for a user. */
export function service_account(account: { subject: "required" | "optional"; audience?: string }): AuthAddition;
/** Accounts are installations of an application. `path` has `{installation_id}`. */
export function app_installation(app: { upstream: string; path: string }): AuthAddition;
/** Users authorize with a code that they enter on another device. */
export function device_code(device: { device_authorization_url: string }): AuthAddition;

/** The provider's own error codes for a grant that has ended, after which the user must connect the account again. */
export function ended_codes(codes: string[]): AuthAddition;

/** Requests are signed with AWS Signature Version 4. The `auth` is `api_key({ header: "Authorization" })`. */
export function aws_signature(signature: { service: string; region?: string; region_part?: string }): AuthAddition;
/** A part of the text that an HMAC signs. */
export type SignedPart =
  "method" | "host" | "path" | "query" | "target" | "timestamp" | "key_id" | "body" | "body_hash" | { literal: string };
/** Requests are signed by HMAC. `api_key` names the header. */
export function hmac_signature(signature: {
  hash?: "sha1" | "sha256" | "sha512"; secret?: "text" | "base64"; encoding?: "hex" | "base64"; text: SignedPart[];
  separator?: string; timestamp?: { header: string; form: "seconds" | "milliseconds" | "rfc3339" }; key_header?: string;
}): AuthAddition;

/** The same under one name: `auth.none`. */
export const auth: {
  none: Auth; USERINFO: Identity; oauth2: typeof oauth2; api_key: typeof api_key; client_credentials: typeof client_credentials;
  service_account: typeof service_account; app_installation: typeof app_installation; device_code: typeof device_code;
  aws_signature: typeof aws_signature; hmac_signature: typeof hmac_signature;
};

export interface Upstream {
  url: string;
  credential?: "standard" | "none" | "form_field";
  links?: string[];
  pacing?: { interval_ms: number; concurrency: number; max_wait_ms: number };
  /** The domain that the hosts of all accounts are below, if the host has a part of the account's address. */
  site?: string;
}
/** A part of accounts' addresses. */
export interface AddressPart {
  /** For the user who connects the account, in a few words. */
  title: string;
  /** The characters of a value: a label of a host name (the default), a whole host name, or a segment of a path. */
  form?: "label" | "host" | "segment";
  /** Maximum number of characters. */
  max?: number;
  /** `"user"` (the default), or a JSON Pointer into the service's answer about the account. */
  from?: string;
}
export interface Statements {
  identifier: string;
  version: string;
  title: string;
  doc?: string;
  license?: string;
  homepage?: string;
  author?: string;
  /** The text of an SVG image. */
  icon?: string;
  auth: Auth;
  auth_additions?: AuthAddition[];
  upstreams?: Record<string, string | Upstream>;
  /** The parts of accounts' addresses, which base URLs have in braces. */
  address?: Record<string, AddressPart>;
  /** `300 per minute`, `300 per 15 minutes` */
  rate_limits?: Record<string, string>;
  settings?: Fields;
  headers?: Record<string, string | { value: string; when: (string | { name: string; unless: string })[] }>;
  lists?: "repeated" | { joined: string };
  via?: (request: Request) => Outcome;
  inboxes?: Inbox[];
  triggers?: Trigger[];
  answer_examples?: Record<string, Json>;
  operations: Record<string, Row>;
}
export interface Table {
  request(method: string, upstream: string, path: string): Request;
  setting(name: string): any;
}
export function connector(statements: Statements): Table;

/** A part of a form with files: a field, a file, or a file of a caller. */
export type Part =
  | { name: string; content_type?: string | null; text: string }
  | { name: string; file_name: string; content_type?: string | null; bytes: Uint8Array }
  | ({ name: string } & GivenFile);

/** An address that an upstream gave in a response. */
export interface Link {
  readonly __link: never;
}
export class Request {
  constructor(method: string, upstream: string, path: string);
  static get(upstream: string, path: string): Request;
  static post(upstream: string, path: string): Request;
  static follow(upstream: string, link: Link): Request;
  method: string;
  path: string;
  headers: [string, string][];
  segment(field: string, value: string | number | readonly string[]): this;
  query(name: string, value: string | number | boolean | null | undefined): this;
  header(name: string, value: string): this;
  json(value: unknown): this;
  form(fields: Record<string, unknown> | readonly (readonly [string, unknown])[]): this;
  /** A file of a caller is a part once it has a name: `{ name: "photo", ...photo }`. */
  multipart(parts: readonly Part[]): this;
  /** A link with a signature in its query, which needs no account for this number of seconds. */
  signedLink(seconds: number): string;
  bytes(contentType: string, bytes: Uint8Array): this;
  withoutCredential(): this;
}
export class Response {
  readonly status: number;
  header(name: string): string | undefined;
  headerLink(name: string): Link | undefined;
  bodyLink(pointer: string): Link | undefined;
  peek(length: number): Uint8Array;
  bytes(): Uint8Array;
  text(): string;
  json(): any;
  document(): Document;
  successful(): this;
}
export class Document {
  static parse(text: string): Document;
  readonly kind: "null" | "boolean" | "number" | "string" | "array" | "object";
  readonly length: number;
  pointer(pointer: string): Document | undefined;
  string(pointer: string): string | undefined;
  keys(): string[];
  item(index: number): Document | undefined;
  items(): Generator<Document>;
  text(): string;
  value(): any;
}
export class HttpError extends Error {
  readonly tag: string;
  /** Throws the error. */
  successful(): never;
}
export function send(request: Request): Response;
export function sendAll(requests: Request[]): (Response | HttpError)[];

/**
 * The items of a list that has pages: at most `limit`, from the JSON Pointer `items` of each page.
 * With `progress`, each page reports a message such as `120 users`.
 */
export function pages(
  request: Request,
  words: { items: string; limit: number; progress?: string } & (
    | { cursor: string; parameter: string }
    | { link: string }
    | { page_number: number; parameter: string }
    | { offset: true; parameter: string }
    | { last: string; while?: string; parameter: string }
  ),
): Iterable<Document> & {
  /** `true` if the service has more items than were given. */
  readonly hasMore: boolean;
};

export class Fault extends Error {
  static invalidInput(pointer: string, detail: string): Fault;
  static notFound(detail: string, members?: object): Fault;
  static conflict(detail: string, members?: object): Fault;
  static upstream(status: number, detail: string, more?: { body?: string; retryAfterSeconds?: number }): Fault;
  static failed(detail: string): Fault;
}
export class File {
  constructor(
    content: Response | Uint8Array | string,
    about: { file_name: string; content_type: string; members?: object; digest?: boolean; max_bytes?: number },
  );
}
export class Mistake extends Error {}
export function userinfo(account: {
  id: string;
  email?: string | null;
  username?: string | null;
  name?: string | null;
  picture?: string | null;
  organization?: { id?: string | null; name?: string | null } | null;
}): object;

export const storage: {
  get(key: string): string | undefined;
  getBytes(key: string): Uint8Array | undefined;
  set(key: string, value: string | Uint8Array, seconds?: number): void;
  delete(key: string): void;
};
export const log: Record<"debug" | "info" | "warn" | "error", (message: string) => void>;
export const clock: {
  now(): number;
  /** Waits. The time counts to the deadline of the call, and not to the connector's CPU time. */
  sleep(milliseconds: number): void;
};
/**
 * Runs a function until it succeeds, fails for good, or has had all attempts. It is tried again after a `Fault.upstream` with
 * the status 429, 502, 503 or 504, at least after the time that the service asks for. Delays are milliseconds; each is twice the
 * previous one. A service that asks for more than `longest` is not asked again.
 */
export function retry<T>(run: () => T, backoff?: { attempts?: number; first?: number; longest?: number }): T;
/** Text as bytes in UTF-8. The small engine has no `TextEncoder`. */
export const utf8: { encode(text: string): Uint8Array; decode(bytes: Uint8Array): string };
/** Base64 of RFC 4648, section 4. Text is written as UTF-8. */
export const base64: { encode(content: string | Uint8Array): string; decode(text: string): Uint8Array };
export const progress: { report(fraction: number, message: string): void };
