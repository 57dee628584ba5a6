// The faults that an operation throws.

/** An operation that did not succeed. The message says what happened and what to do. */
export class Fault extends Error {
  name = "Fault";

  constructor(tag, val, message) {
    super(message);
    Object.assign(this, { tag, val });
  }

  /**
   * The input is wrong in a way that the fields cannot express (422). `pointer` is a JSON Pointer
   * into the input.
   */
  static invalidInput(pointer, detail) {
    return new Fault("invalid-input", [{ pointer, detail }], detail);
  }

  /** The thing does not exist (404). `members` are added to the problem document. */
  static notFound(detail, members) {
    return new Fault("not-found", { detail, members: members && JSON.stringify(members) }, detail);
  }

  /**
   * The request conflicts with the state of the service, or is ambiguous (409). `members` are added
   * to the problem document.
   */
  static conflict(detail, members) {
    return new Fault("conflict", { detail, members: members && JSON.stringify(members) }, detail);
  }

  /**
   * The service refused or failed. Callers get `status` (400 to 599). `body` is JSON text of the
   * service.
   */
  static upstream(status, detail, { body, retryAfterSeconds } = {}) {
    return new Fault("upstream", { status, detail, body, retryAfterSeconds }, detail);
  }

  /** A defect of the connector. Operator and caller see the text. */
  static failed(detail) {
    return new Fault("failed", detail, detail);
  }
}
