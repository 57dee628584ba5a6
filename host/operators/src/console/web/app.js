// The console: signing in, the menu, and the screen of the place in the address.

import { render } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "preact/hooks";
import { call, root, useDocument, useLoad } from "./api.js";
import { Call, Calls } from "./calls.js";
import { announce, Awaited, BusyButton, html, Live, Problem, tell, Text, text, Title } from "./parts.js";
import { Again, go, placeOf, read, to, usePlace } from "./route.js";
import { words } from "./words.js";

/** The entries of the menu. */
const MENU = [
  ["calls", words.calls.title],
  ["integrations", words.integrations.title],
  ["connectors", words.connectors.title],
  ["overview", words.overview.title],
  ["try", words.try.title],
  ["jobs", words.jobs.title],
  ["triggers", words.triggers.title],
  ["inboxes", words.inboxes.title],
  ["webhooks", words.webhooks.title],
  ["keys", words.keys.title],
  ["gateways", words.gateways.title],
  ["audit", words.audit.title],
  ["settings", words.settings.title],
];

/**
 * The screens by the first part of the place: the module, and the names of the list and of one thing in it. Modules are loaded when they are
 * wanted, because the first list would wait for all of them. The screen that the console opens with is there.
 */
const SCREENS = {
  calls: [{ Calls, Call }, "Calls", "Call"],
  find: [() => import("./find.js"), undefined, "Find"],
  people: [() => import("./people.js"), undefined, "Person"],
  integrations: [() => import("./integrations.js"), "Integrations", "Integration"],
  connectors: [() => import("./connector.js"), "Connectors", "Connector"],
  overview: [() => import("./overview.js"), "Overview"],
  try: [() => import("./try.js"), "Try", "Try"],
  jobs: [() => import("./jobs.js"), "Jobs", "Job"],
  triggers: [() => import("./triggers.js"), "Triggers", "Trigger"],
  inboxes: [() => import("./inboxes.js"), "Inboxes", "Inbox"],
  "hook-requests": [() => import("./hook_requests.js"), "HookRequests"],
  webhooks: [() => import("./webhooks.js"), "Webhooks"],
  keys: [() => import("./keys.js"), "Keys", "Key"],
  tenants: [() => import("./tenants.js"), "Tenants", "Tenant"],
  "tool-sets": [() => import("./tool_sets.js"), "ToolSets"],
  gateways: [() => import("./gateways.js"), "Gateways"],
  audit: [() => import("./audit.js"), "Audit"],
  settings: [() => import("./settings.js"), "Settings"],
};

/** The time after which the other screens are loaded too: no one waits for them then, and all are of one version of the gateway. */
const OTHERS_MS = 1000;

/** The time after which the page says that it loads. To draw that would delay the first list. */
const LATE_MS = 300;

/** Loads the module of a screen, unless it is there. */
const prepare = ([module] = []) => typeof module === "function" && module().catch(() => null);

function Screen({ place, session }) {
  const [name = "calls", id, operation] = place.parts;
  const [module, list, one] = SCREENS[name] ?? [];
  // A mistake of the console in one screen leaves the others. It is of one place: another one may be well, also in the same screen.
  const [fault, setFault] = useState(null);
  useErrorBoundary((error) => {
    console.error(error);
    setFault({ place, error });
  });
  useEffect(() => {
    const timer = setTimeout(() => Object.values(SCREENS).forEach(prepare), OTHERS_MS);
    return () => clearTimeout(timer);
  }, []);
  if (fault?.place === place) return html`<${Title}>${words.brokenScreen}<//><${Problem} of=${{ title: words.brokenScreenTodo, detail: String(fault.error) }} />`;
  const chosen = id === undefined ? list : one;
  if (!chosen) return html`<${Title}>${words.notFound}<//><p><a href=${to(["calls"])}>${words.calls.title}</a></p>`;
  // Another thing is another screen, so that nothing of the last one stays. The choices of an operation stay.
  const key = name === "try" ? name : `${name}/${id ?? ""}`;
  const show = (Chosen) => html`<${Again.Provider} value=${place.again}>
    <${Chosen} key=${key} id=${id} connector=${id} operation=${operation} query=${place.query} session=${session} />
  <//>`;
  return typeof module === "function" ? html`<${Loaded} load=${module} name=${chosen} show=${show} />` : show(module[chosen]);
}

/** Shows a screen once its module is there. */
function Loaded({ load, name, show }) {
  const { data: module, problem } = useLoad(load, [load]);
  const Chosen = module?.[name];
  if (Chosen) return show(Chosen);
  // A browser may remember that a module did not come, so that asking for it again is of no use.
  return html`<${Awaited} data=${Chosen} problem=${problem && { title: words.missingModule, detail: words.missingModuleTodo }} />`;
}

function Menu({ place, session, onSignOut }) {
  const current = { tenants: "keys", "tool-sets": "keys", "hook-requests": "inboxes" }[place.parts[0]] ?? place.parts[0] ?? "calls";
  // On a small screen, the screens are shown after a button, so that the head leaves room for what it is about.
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => setOpen(false), [place]);
  const field = useRef(null);
  useEffect(() => {
    const toField = (event) => {
      const isShortcut = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
      // A dialog keeps the focus.
      if (!isShortcut || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      field.current.focus();
      field.current.select();
    };
    addEventListener("keydown", toField);
    return () => removeEventListener("keydown", toField);
  }, []);
  const find = (event) => {
    event.preventDefault();
    const name = new FormData(event.currentTarget).get("name").trim();
    if (!name) return;
    event.currentTarget.reset();
    go(...placeOf(name));
  };
  return html`<header class=${isOpen ? "open" : ""}>
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector("h1")?.focus(); }}>${words.skip}</a>
    <p class="product">${words.product}</p>
    <button type="button" class="menu small" aria-expanded=${isOpen ? "true" : "false"} onClick=${() => setOpen(!isOpen)}>${words.menu}</button>
    <form role="search" aria-label=${words.find.label} onSubmit=${find}>
      <input ref=${field} name="name" aria-label=${words.find.label} aria-keyshortcuts="Control+K Meta+K" title=${words.find.shortcut} placeholder=${words.find.what}
        autocomplete="off" spellcheck=${false} />
      <button type="submit">${words.find.label}</button>
    </form>
    <p class="session">
      <${Text} of=${session.gateway} /> ${session.version} · ${session.key_id
        ? html`<a href=${to(["keys", session.key_id])}><${Text} of=${session.key_id} /></a>`
        : html`<${Text} of=${session.person} />`}
      ${" "}<button type="button" class="small" onClick=${onSignOut}>${words.signOut}</button>
    </p>
    <nav aria-label=${words.menu}><ul>
      ${MENU.map(([name, label]) => html`<li><a href=${to([name])} aria-current=${name === current ? "page" : undefined}>${label}</a></li>`)}
    </ul></nav>
  </header>`;
}

function SignIn({ ended, onDone }) {
  const [state, setState] = useState({});
  const { data: ways, loading } = useDocument("/console/sign-in");
  const signIn = async (event) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get("key").trim();
    setState({ isBusy: true });
    try {
      await call("POST", "/console/session", { headers: { authorization: `Bearer ${key}` } });
      // The browser does not show the cookie to the page. It refuses it without https.
      onDone(await call("GET", "/console/session").catch(() => Promise.reject({ problem: { title: words.noCookie, detail: words.noCookieDetail } })));
    } catch (error) {
      setState({ problem: error.problem ?? { title: words.failed, detail: String(error) } });
    }
  };
  return html`<main class="sign-in">
    <${Title}>${words.signIn}<//>
    ${ended && html`<p role="status">${words.ended}</p>`}
    <form class="stacked" onSubmit=${signIn}>
      <label>${words.adminKey} <input name="key" type="password" required autocomplete="off" spellcheck=${false} /></label>
      <p class="small">${words.adminKeyHint}</p>
      <${Problem} of=${state.problem} />
      <p class="buttons"><${BusyButton} type="submit" class="first" isBusy=${state.isBusy}>${words.signIn}<//></p>
    </form>
    ${loading && html`<${Awaited} />`}
    ${ways?.oidc && html`<p><a href=${new URL("console/oidc", root).href}>${words.signInAt(text(ways.oidc))}</a></p>`}
  </main>`;
}

function Console() {
  const place = usePlace();
  const [{ session, hasEnded }, setState] = useState({});
  const [isLate, setLate] = useState(false);
  const begin = (session) => setState({ session });
  useLayoutEffect(() => {
    call("GET", "/console/session").then(begin, () => begin(null));
    // After signing out, a late answer says that there is no session. This one has not ended by itself.
    const end = () => setState((now) => (now.session ? { session: null, hasEnded: true } : now));
    addEventListener("console-signed-out", end);
    return () => removeEventListener("console-signed-out", end);
  }, []);
  const signOut = async () => {
    try {
      await call("DELETE", "/console/session");
    } catch (error) {
      // Without a session there is nothing to end. Else its cookie still opens the console.
      if (error.problem?.status !== 401) return tell(words.notSignedOut, "bad");
    }
    begin(null);
    announce(words.signedOut);
  };
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE_MS);
    return () => clearTimeout(timer);
  }, []);
  if (session === undefined) return isLate && html`<${Awaited} />`;
  return html`
    <${Live} />
    ${session === null
      ? html`<${SignIn} ended=${hasEnded} onDone=${begin} />`
      : html`<${Menu} place=${place} session=${session} onSignOut=${signOut} /><main id="main"><${Screen} place=${place} session=${session} /></main>`}
  `;
}

// The module of the screen is loaded while the gateway says whose session this is. `early.js` has asked for its list.
const [name = "calls"] = read(location.hash).parts;
prepare(SCREENS[name]);
render(html`<${Console} />`, document.getElementById("console"));
