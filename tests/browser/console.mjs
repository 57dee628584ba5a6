// Walks the screens of the console by the keyboard, in light and dark and on a narrow screen.
//
// The arguments are the browser, the gateway's address, a key of the scope `admin`, the ids to visit as JSON, a hostile text, a module, and
// one that asks for more than the previous version. The program prints what it saw as JSON.

import { createServer, request } from "node:http";
import { chromium } from "playwright-core";
import { check, confirm, nothingSeen, openScreen, OPTIONS, person, refreshUntil, settled, signIn, visit } from "./console_person.mjs";
import { tabTo } from "./looks.mjs";

const [executablePath, address, key, idsText, hostile, module, more] = process.argv.slice(2);
const ids = JSON.parse(idsText);
const seen = { ...nothingSeen(), sorted: [] };

const browser = await chromium.launch({ executablePath, args: OPTIONS });
const page = await person(browser, address, seen);
const look = (name) => check(page, name, seen);

/** Opens a place by its link, as someone does who got it from another. */
async function open(place, text) {
  await visit(page, `${address}/console#/${place}`);
  await page.locator("main", { hasText: text }).waitFor();
  await settled(page);
}

// Signing in, first with a wrong key.
await page.goto(`${address}/console`);
await page.getByLabel("API key").waitFor();
await look("signed out");
await signIn(page, "cgw_wrong", seen);
await page.getByRole("alert").waitFor();
await look("wrong key");
await signIn(page, key, seen);
await page.locator("h1", { hasText: "Calls" }).waitFor();
/** Adds a file of the console and those that it imports, also later, to `found`. The first file has some modules of its own. */
async function addFiles(name, found) {
  if (found.has(name)) return found;
  found.add(name);
  const script = await (await page.request.get(`${address}/console/${name}`)).text();
  for (const [, imported] of script.matchAll(/(?:from |import\()"\.\/([\w.]+)"/g)) await addFiles(await fileOf(imported), found);
  return found;
}
/** The file in which the browser finds a module. */
const fileOf = (name) => page.evaluate((name) => {
  const { imports } = JSON.parse(document.querySelector("script[type=importmap]").textContent);
  return (imports[`./console/${name}`] ?? name).split("/").at(-1);
}, name);
// The other screens are loaded a moment later. Without them, the sum of the bytes would say nothing.
await page.waitForFunction((files) => {
  const loaded = new Set(performance.getEntriesByType("resource").map(({ name }) => name.split("/").at(-1)));
  return files.every((file) => loaded.has(file));
}, [...(await addFiles("first.js", new Set()))]);
seen.bytes = await page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter((entry) => new URL(entry.name).pathname.startsWith("/console") && !entry.name.endsWith("/session"))
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0));

// Calls: the list with a filter, and one call, found by its id.
await page.getByRole("table").waitFor();
await look("calls");
await tabTo(page, page.getByLabel("Who can act"), seen);
// One key chooses the only entry that begins with it. A browser takes further keys for another entry if they come late.
await page.keyboard.press("p");
await page.keyboard.press("Enter");
await tabTo(page, page.getByRole("button", { name: "Filter" }), seen);
await page.keyboard.press("Enter");
await page.waitForURL(/owner=provider/);
await page.locator("td", { hasText: "upstream-failed" }).first().waitFor();
await tabTo(page, page.getByRole("search", { name: "Find", exact: true }).getByRole("textbox"), seen, "Shift+Tab");
await page.keyboard.type(ids.call);
await page.keyboard.press("Enter");
await page.getByText("curl -X POST").waitFor();
await look("call");
// The bars of the stages end where their table ends.
const [bar, stages] = [page.locator(".bar").first(), page.getByRole("table").first()];
const endOf = async (part) => part.evaluate((element) => element.getBoundingClientRect().right);
seen.behindBar = (await endOf(stages)) - (await endOf(bar));

// A name that nothing has, the page of a person, and an address without a screen.
await open("find/nobody-goes-by-this", "Nothing here has this name.");
await look("find");
await open("people/ann", "What is wrong");
await look("person");
await open("no-such-screen", "There is no such screen");
await look("no such screen");

// Integrations: one that has expired, whose refresh fails again, and one whose texts are hostile.
await openScreen(page, "Integrations", seen);
await page.getByRole("table").waitFor();
await look("integrations");
await tabTo(page, page.getByRole("row", { name: /expired/ }).getByRole("link").first(), seen);
await page.keyboard.press("Enter");
await page.getByText("The user must connect this account again.").waitFor();
await look("expired");
await confirm(page, page.getByRole("button", { name: "Refresh the tokens" }), seen);
await page.getByRole("dialog").getByRole("alert").waitFor();
await look("renewed");
await page.keyboard.press("Escape");
await page.locator("dialog").waitFor({ state: "detached" });
const back = await page.evaluate(() => document.activeElement?.textContent);
if (back !== "Refresh the tokens") seen.unreached.push(`the focus after a dialog is on ${back}`);
await open(`integrations/${ids.account}`, "At the service");
await look("account");

// Connectors: a gateway that refuses a version, a rollback, an update that is installed, and a grant.
await openScreen(page, "Connectors", seen);
await page.getByText("broken.wasm").waitFor();
await look("connectors");
await tabTo(page, page.getByRole("row", { name: /liar/ }).getByRole("link").first(), seen);
await page.keyboard.press("Enter");
await page.locator("h1", { hasText: "Connector liar" }).waitFor();
await page.getByRole("row", { name: /strict.*signature/ }).waitFor();
await look("connector");
await confirm(page, page.getByRole("row", { name: /^1\.0\.0/ }).getByRole("button", { name: "Roll back" }), seen, hostile);
await page.getByRole("cell", { name: "rolled_back" }).waitFor();
await look("rolled back");
await page.getByLabel("Module (.wasm)").setInputFiles(module);
await tabTo(page, page.getByRole("button", { name: "Install" }), seen);
await page.keyboard.press("Enter");
await page.getByText("liar 3.0.0 is live.").first().waitFor();
await look("installed");
await confirm(page, page.getByRole("button", { name: "Grant" }), seen);
await page.getByRole("cell", { name: "granted", exact: true }).first().waitFor();
await look("granted");
await confirm(page, page.getByRole("button", { name: "Revoke", exact: true }), seen);
await page.getByRole("cell", { name: "missing", exact: true }).first().waitFor();
await open("connectors/hostile", "Operations");
await look("hostile");
await page.getByLabel("Module (.wasm)").setInputFiles(more);
await tabTo(page, page.getByRole("button", { name: "Install" }), seen);
await page.keyboard.press("Enter");
await page.getByText("Nothing has changed yet.").waitFor();
const asked = await page.evaluate(() => document.activeElement?.closest("[role=alert]") !== null && document.activeElement?.tagName);
if (asked !== "P") seen.unreached.push(`the focus of a question about more permissions is on ${asked}`);
await look("asks for more");
await tabTo(page, page.getByRole("button", { name: "Accept this and install" }), seen);
await page.keyboard.press("Enter");
await page.getByText("hostile 1.0.0 is live.").first().waitFor();
await page.getByRole("cell", { name: "more.example" }).first().waitFor();
await look("accepted");

await openScreen(page, "Overview", seen);
await page.getByText("Connectors that lag").first().waitFor();
// The first sample is taken 15 seconds after the start.
await refreshUntil(page, page.locator(".chart"));
await tabTo(page, page.getByText("The same as a table"), seen);
await page.keyboard.press("Enter");
await page.getByRole("table", { name: "The highest values of each five minutes" }).waitFor();
await look("overview");
await page.evaluate(() => scrollTo(0, 0));
await page.locator(".chart svg").first().hover();
await page.locator(".chart .point", { hasText: "UTC" }).first().waitFor();
seen.point = await page.locator(".chart .point").first().innerText();

// Try: an operation that answers, and one that fails.
await openScreen(page, "Try", seen);
await look("choice of operations");
await open("try/hostile/forward", "The same call");
await look("try");
await tabTo(page, page.getByText("further fields"), seen);
await page.keyboard.press("Enter");
await tabTo(page, page.getByLabel("path", { exact: true }), seen);
await page.keyboard.type("/ok");
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
await page.getByRole("heading", { name: "Answer" }).waitFor();
await page.getByRole("region", { name: "Body" }).getByText("says").waitFor();
await look("tried");
await page.getByLabel("path", { exact: true }).fill("/fail");
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
await page.locator("dd").getByText("502", { exact: true }).waitFor();
await look("refused");

// Jobs, and the webhook about one.
await openScreen(page, "Jobs", seen);
await page.getByRole("table").waitFor();
await look("jobs");
await open(`jobs/${ids.job}`, "Webhooks");
await look("job");
await openScreen(page, "Webhooks", seen);
await page.getByRole("table").waitFor();
await look("webhooks");
await confirm(page, page.getByRole("button", { name: "Send again" }), seen);
await page.getByRole("dialog").waitFor({ state: "hidden" });
await refreshUntil(page, page.getByText("2 attempts"));
await look("resent");

// Triggers: one is tested. Inboxes: one gets a secret, and shows what was rejected.
await openScreen(page, "Triggers", seen);
await page.getByRole("table").waitFor();
await look("triggers");
await open(`triggers/${ids.trigger}`, "Learns of events by");
await confirm(page, page.getByRole("button", { name: "Test", exact: true }), seen);
await page.getByRole("table", { name: "The last events, the newest first" }).waitFor();
await tabTo(page, page.locator("summary").first(), seen);
await page.keyboard.press("Enter");
await page.getByRole("region", { name: "Data of event 1" }).waitFor();
// The page hears later that the part is open, and asks for the webhooks of the event then.
await page.locator("details[open] > ul").waitFor({ state: "attached" });
await look("trigger");
await openScreen(page, "Inboxes", seen);
await page.getByRole("table").waitFor();
await look("inboxes");
await open(`inboxes/${ids.inbox}`, "Address for the service");
await tabTo(page, page.getByLabel("Secret, as the service shows it"), seen);
await page.keyboard.type("hunter2");
await tabTo(page, page.getByRole("button", { name: "Add a secret" }), seen);
await page.keyboard.press("Enter");
await page.getByRole("table", { name: /^Its secrets/ }).waitFor();
await look("inbox");
await open("hook-requests", "Bodies are not kept.");
await page.getByRole("table").waitFor();
await look("hook requests");

// Keys, tenants and tool sets.
await openScreen(page, "Keys", seen);
await page.getByRole("table").waitFor();
await look("keys");
// A list on one page is sorted by its headings.
for (const direction of ["ascending", "descending"]) {
  await tabTo(page, page.getByRole("button", { name: "Name", exact: true }), seen);
  await page.keyboard.press("Enter");
  await page.locator(`th[aria-sort=${direction}]`, { hasText: "Name" }).waitFor();
  seen.sorted.push(await page.locator("tbody td:first-child").allInnerTexts());
}
// A key is made in a dialog, which names what is not live.
await tabTo(page, page.getByRole("button", { name: "Make a key" }), seen);
await page.keyboard.press("Enter");
const form = page.getByRole("dialog");
await look("new key");
await tabTo(page, form.getByLabel("Name"), seen);
await page.keyboard.type("made in the console");
await tabTo(page, form.getByLabel("operate"), seen);
await page.keyboard.press("Space");
await tabTo(page, form.getByLabel("May call"), seen);
await page.keyboard.type("hostile liar/verison");
await tabTo(page, form.getByRole("button", { name: "Make a key" }), seen);
await page.keyboard.press("Enter");
await form.getByText("Did you mean `liar/version`?").waitFor();
await look("unknown name");
await tabTo(page, form.getByLabel("Tenant"), seen, "Shift+Tab");
await page.keyboard.type("acmee");
await page.keyboard.press("Enter");
await form.getByText("There is no tenant acmee yet").waitFor();
await look("new tenant");
await form.getByLabel("Tenant").fill("");
await tabTo(page, form.getByLabel("May call"), seen);
await page.keyboard.press("Control+a");
await page.keyboard.type("hostile liar/version");
await page.keyboard.press("Enter");
await form.getByText("It is shown only now").waitFor();
const made = await form.getByRole("region", { name: "Key" }).innerText();
await look("made");
seen.pages.made = seen.pages.made.replaceAll(made, "");
await tabTo(page, form.getByRole("button", { name: "Close" }), seen);
await page.keyboard.press("Enter");
await form.waitFor({ state: "detached" });
await page.getByRole("row", { name: /made in the console.*hostile/ }).waitFor();
await open("keys?name=no-such-key", "Nothing matches the filters.");
await look("no match");
await open(`keys/${ids.key}`, "Begins with");
await look("key");
await open("tenants", "OAuth clients");
await look("tenants");
await open(`tenants/${encodeURIComponent(ids.tenant)}`, "OAuth clients");
await look("tenant");
await open("tool-sets", "to which your key belongs");
await look("tool sets");
await openScreen(page, "Gateways", seen);
await page.getByRole("table").waitFor();
await look("gateways");
await openScreen(page, "Audit", seen);
await page.getByRole("table").waitFor();
await look("audit");
// A change leads to what was changed.
await page.locator(`td a[href="#/inboxes/${ids.inbox}"]`).first().waitFor();
// The last hour has every change of this test.
await tabTo(page, page.getByRole("button", { name: "Last hour" }), seen);
await page.keyboard.press("Enter");
await page.waitForURL(/since=/);
await settled(page);
await page.getByRole("cell", { name: "connector.rolled_back" }).first().waitFor();
await page.getByLabel("Since (UTC)").waitFor();
await openScreen(page, "Settings", seen);
await page.getByText(/problems? (was|were) found/).waitFor();
await look("settings");
await tabTo(page, page.getByLabel("Only what is not the default"), seen);
await page.keyboard.press("Space");
await look("only changed");
await tabTo(page, page.getByRole("searchbox", { name: "Search the settings" }), seen);
await page.keyboard.type("service_name");
await look("searched");
if ((await page.title()).includes("taken")) seen.elements.push("a text of others has run");

// Below a path of a proxy.
const proxy = createServer((incoming, outgoing) => {
  const url = new URL(incoming.url.replace(/^\/base/, ""), address);
  const passed = request(url, { method: incoming.method, headers: incoming.headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  incoming.pipe(passed);
});
await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
const below = `http://127.0.0.1:${proxy.address().port}`;
const other = await person(browser, `${below}/base`, seen);
await other.goto(`${below}/base/console#/calls?owner=provider`);
await other.getByLabel("API key").waitFor();
await signIn(other, key, seen);
await other.locator("td", { hasText: "upstream-failed" }).first().waitFor();
await check(other, "below a path", seen);
// It would still load the other screens.
await other.close();
proxy.closeAllConnections();
proxy.close();

// The session ends elsewhere: the next request asks to sign in again.
await page.context().clearCookies();
await page.getByRole("button", { name: "Refresh" }).click();
await page.getByLabel("API key").waitFor();
await look("ended");
seen.stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));

await browser.close();
console.log(JSON.stringify(seen));
