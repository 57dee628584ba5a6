// A new connector. Replace the service, its URL and its operation with yours.

import { auth, connector, get } from "@connector-gateway/sdk";

export default connector({
  identifier: "{{identifier}}",
  version: "0.1.0",
  title: "{{title}}",
  doc: "Meanings of English words.",
  {{auth}}
  operations: {
    define: get("api", "/entries/en/{word}", { doc: "The meanings of an English word.", example: { word: "hello" } }),
  },
});
