// Reads JSON text without changing it: members and items are slices of the text, so that a number
// stays as the caller wrote it.
//
// The text comes from the gateway, which has parsed and validated it. So the functions check only
// what they need to find the end of a value.

const BLANKS = /[ \t\n\r]*/y;
const PLAIN = /[^,}\] \t\n\r]+/y;
const NESTING = /["{}[\]]/g;

/**
 * The members of an object in their order: names, and values as JSON text. `undefined` for other
 * values.
 */
export function members(text) {
  const reader = new Reader(text);
  if (reader.next() !== "{") return undefined;
  const found = [];
  if (reader.next() === "}") return found;
  for (;;) {
    reader.blanks();
    const name = unquoted(reader.string());
    reader.next();
    reader.blanks();
    found.push({ name, value: reader.value() });
    if (reader.next() !== ",") return found;
  }
}

/** The items of an array, each as JSON text. `undefined` for other values. */
export function items(text) {
  const reader = new Reader(text);
  if (reader.next() !== "[") return undefined;
  const found = [];
  reader.blanks();
  if (text[reader.at] === "]") return found;
  for (;;) {
    reader.blanks();
    found.push(reader.value());
    if (reader.next() !== ",") return found;
  }
}

/**
 * The text of a string without quotes and escapes, or the text of a number or boolean. `undefined`
 * for other values.
 */
export function scalar(text) {
  switch (text[0]) {
    case '"':
      return unquoted(text);
    case "[":
    case "{":
    case "n":
    case undefined:
      return undefined;
    default:
      return text;
  }
}

/** Text in which half of a surrogate pair is U+FFFD, as in Rust. */
function unquoted(text) {
  const value = JSON.parse(text);
  return text.includes("\\u") ? value.replace(/[\uD800-\uDFFF]/gu, "\uFFFD") : value;
}

/** Returns `true` if the character at a place has an odd number of backslashes before it. */
function isEscaped(text, at) {
  let first = at;
  while (text[first - 1] === "\\") first -= 1;
  return (at - first) % 2 === 1;
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  blanks() {
    BLANKS.lastIndex = this.at;
    BLANKS.test(this.text);
    this.at = BLANKS.lastIndex;
  }

  /** The next character that is not blank. A quote stays, because it belongs to a value. */
  next() {
    this.blanks();
    const character = this.text[this.at];
    if (character !== '"') this.at += 1;
    return character;
  }

  /**
   * The text of a string with its quotes. A file in base64 is long, and the small engine keeps a
   * state for each character that a regular expression repeats.
   */
  string() {
    const start = this.at;
    let end = start;
    do {
      end = this.text.indexOf('"', end + 1);
    } while (end >= 0 && isEscaped(this.text, end));
    this.at = end < 0 ? this.text.length : end + 1;
    return this.text.slice(start, this.at);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  value() {
    switch (this.text[this.at]) {
      case '"':
        return this.string();
      case "{":
      case "[":
        return this.nested();
      default:
        return this.match(PLAIN);
    }
  }

  nested() {
    const start = this.at;
    let depth = 0;
    do {
      NESTING.lastIndex = this.at;
      const character = NESTING.exec(this.text)?.[0];
      this.at = NESTING.lastIndex;
      if (character === undefined) break;
      if (character === '"') {
        this.at -= 1;
        this.string();
      } else {
        depth += character === "{" || character === "[" ? 1 : -1;
      }
    } while (depth > 0);
    return this.text.slice(start, this.at);
  }
}
