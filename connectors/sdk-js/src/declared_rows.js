// Rows as the contract has them (`row-additions`), so that the gateway makes their requests.

/** The declaration of a row's request. */
export function declarationOf({ method, upstream, path, fixedQuery, fields, defaultQuery, headers, body, encoding }) {
  return {
    method,
    upstream,
    path: template(path, fields) + (fixedQuery === "" ? "" : `?${fixedQuery}`),
    fields: fields.map(fieldOf),
    defaultQuery,
    headers: headers.map(({ name, value, when }) => ({
      name,
      value: template(value, fields),
      when: when.map(({ name, unless }) => ({ parameter: name, unless })),
    })),
    fixedBody: body?.fixed ? `{${body.fixed}}` : undefined,
    encoding,
  };
}

/** The text with names in braces. */
function template(pieces, fields) {
  const name = (piece) => (piece.setting ? `settings.${piece.setting.name}` : fields[piece.field].name);
  return pieces.map((piece) => piece.text ?? `{${name(piece)}}`).join("");
}

function fieldOf(field) {
  const { name, required, integer, lists, maxBytes, nullable } = field;
  return { name, location: locationOf(field), required, integer, lists: listsOf(lists), maxBytes, default: field.default, nullable };
}

function locationOf({ location, upstreamName, bodyPath, isWhole, keepsSlashes, odataString }) {
  switch (location) {
    case "path":
      return { tag: "path", val: keepsSlashes ? "path" : odataString ? "odata-string" : "segment" };
    case "body":
      return isWhole ? { tag: "whole-body" } : { tag: "body", val: bodyPath };
    case "query-entries":
    case "header-entries":
      return { tag: location };
    default:
      return { tag: location, val: upstreamName };
  }
}

function listsOf({ joined, repeated }) {
  if (joined !== undefined) return { tag: "joined", val: joined };
  return repeated ? { tag: "repeated" } : { tag: "as-they-are" };
}
