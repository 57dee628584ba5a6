// The place in the console. It is in the fragment of the address, so that every view is a link that can be sent, also below a path of a
// proxy: a path, and the query of a list.

import { useEffect, useState } from "preact/hooks";

/** The place of an address: the parts of its path, and its query as an object. */
export function read(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place. Empty values are left out of the query. */
export function to(parts, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

/** Goes to a place. */
export function go(parts, query) {
  location.hash = to(parts, query);
}

/** The place now. */
export function usePlace() {
  const [place, setPlace] = useState(() => read(location.hash));
  useEffect(() => {
    const moved = () => setPlace(read(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}
