// The tool sets of the tenant of the operator's key.

import { useState } from "preact/hooks";
import { call } from "./api.js";
import { ChangeButton } from "./dialog.js";
import { List } from "./list.js";
import { Actor, html, Text, text, Time, Title } from "./parts.js";
import { to } from "./route.js";
import { words } from "./words.js";

const say = words.toolSets;

/** The list. */
export function ToolSets({ query, session }) {
  const [turn, setTurn] = useState(0);
  const remove = (set) => async (options) => {
    await call("DELETE", `/mcp-sets/${encodeURIComponent(set.name)}`, options);
    return say.deleted;
  };
  const columns = [
    [say.name, (set) => html`<${Text} of=${set.name} />`, (set) => set.name],
    [say.url, (set) => html`<${Text} of=${set.url} />`],
    [words.keys.allow, (set) => html`<${Text} of=${set.allow.join(", ")} />`],
    [words.keys.effects, (set) => text(set.effects?.join(", ") ?? words.keys.all)],
    [say.mode, (set) => text(set.mode), (set) => set.mode],
    [words.created, (set) => html`<${Time} at=${set.created_at} />`, (set) => set.created_at],
    [words.keys.createdBy, (set) => html`<${Actor} of=${set.created_by} />`, (set) => set.created_by],
    [words.change, (set) => html`<${ChangeButton} label=${say.remove} danger=${true} title=${say.removeTitle(text(set.name))}
      what=${html`<p>${say.removeWhat(text(set.url))}</p>`} change=${remove(set)} onDone=${() => setTurn((turn) => turn + 1)} />`],
  ];
  return html`
    <${Title}>${say.title}<//>
    <p>${say.lead(text(session.tenant))}</p>
    <p><a href=${to(["keys"])}>${words.keys.title}</a></p>
    <${List} place=${["tool-sets"]} query=${query} path="/mcp-sets" name="sets" caption=${say.title} columns=${columns} keyOf=${(set) => set.name} turn=${turn} />
  `;
}
