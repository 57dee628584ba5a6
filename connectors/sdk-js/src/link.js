// The header `Link` (RFC 8288), as the gateway reads it: the address of the next page.

const LINK = /[ \t,]*<([^>]*)>/y;
const PARAMETER = /[ \t]*;[ \t]*([^ \t;,=]*)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\[^])*)(?:"|\\?$)|([^ \t;,]*)))?/y;

/** The address of the link with the relation `next`; `undefined` if the values have none. */
export function nextOf(values) {
  for (const value of values) {
    const next = nextIn(value);
    if (next !== undefined) return next;
  }
  return undefined;
}

function nextIn(value) {
  LINK.lastIndex = 0;
  for (let link = LINK.exec(value); link !== null; link = LINK.exec(value)) {
    let [relations, hasAnchor, end] = [undefined, false, LINK.lastIndex];
    PARAMETER.lastIndex = end;
    for (let found = PARAMETER.exec(value); found !== null; found = PARAMETER.exec(value)) {
      end = PARAMETER.lastIndex;
      const [, name, quoted, token] = found;
      if (name.toLowerCase() === "rel") relations ??= quoted?.replace(/\\([^])/g, "$1") ?? token ?? "";
      if (name.toLowerCase() === "anchor") hasAnchor = true;
    }
    if (!hasAnchor && relations?.toLowerCase().split(/[ \t]/).includes("next")) return link[1].replace(/^[ \t]+|[ \t]+$/g, "");
    LINK.lastIndex = end;
  }
  return undefined;
}
