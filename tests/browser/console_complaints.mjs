// Walks from the start page of the console to the reason of each complaint, by the keyboard, and counts the clicks. Looks at every page in
// light and dark, and on a narrow screen.
//
// The arguments are the browser, the gateway's address, a key of the scope `admin`, the ways as JSON, and a key to search. The program prints
// what it saw as JSON.

import { chromium } from "playwright-core";
import { check, nothingSeen, OPTIONS, person, settled, signIn, visit } from "./console_person.mjs";
import { resize, tabTo } from "./looks.mjs";

const [executablePath, address, key, waysText, lost] = process.argv.slice(2);
const seen = { ...nothingSeen(), ways: {}, found: {}, refreshes: [] };
const browser = await chromium.launch({ executablePath, args: OPTIONS });
const page = await person(browser, address, seen);
const look = (name) => check(page, name, seen);

const search = () => page.getByRole("search", { name: "Find", exact: true }).getByRole("textbox");

/** Searches a name from the head of any page. */
async function find(name) {
  await tabTo(page, search(), seen, "Shift+Tab");
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
}

/** The start page. */
async function start() {
  await visit(page, `${address}/console#/`);
  await page.locator("h1", { hasText: "Calls" }).waitFor();
  await settled(page);
}

await page.goto(`${address}/console`);
await signIn(page, key, seen);
await page.locator("h1", { hasText: "Calls" }).waitFor();

// The first list is asked for before the console runs, and only once.
const early = await page.context().newPage();
seen.early = [];
early.on("request", (request) => new URL(request.url()).pathname === "/admin/calls" && seen.early.push(request.url()));
const asksFirst = early.waitForRequest("**/admin/calls");
await early.route("**/console/first.js", async (route) => {
  await asksFirst;
  return route.fallback();
});
await early.goto(`${address}/console`);
await early.locator("tbody tr").first().waitFor();
await early.close();

// A screen with a mistake leaves the others, also those of its own module.
const broken = await page.context().newPage();
await broken.route("**/console/inboxes.js", (route) => route.fulfill({
  contentType: "text/javascript",
  body: "export const Inboxes = () => 'an intact list'; export const Inbox = () => { throw new Error('broken on purpose'); };",
}));
await broken.goto(`${address}/console#/inboxes`);
await broken.locator("main", { hasText: "an intact list" }).waitFor();
await visit(broken, `${address}/console#/inboxes/inb_1`);
await broken.locator("h1", { hasText: "This screen cannot be shown" }).waitFor();
seen.pages["broken screen"] = await broken.innerText("main");
await broken.getByRole("link", { name: "Gateways", exact: true }).click();
await broken.getByRole("table").waitFor();
await broken.close();

// The place that is shown is loaded again when someone opens it again.
await visit(page, `${address}/console#/calls`);
await settled(page);
const askedAgain = page.waitForRequest("**/admin/calls");
await page.getByRole("link", { name: "Calls", exact: true }).click();
await askedAgain;
await settled(page);

// What a page adds by a second request is late, so that the page has to say that it is not complete.
await page.route("**/admin/integrations?*", async (route) => {
  await page.waitForTimeout(400);
  return route.fallback();
});

// Each way: a search, or links, until the page has the reason.
for (const { name, steps, reason } of JSON.parse(waysText)) {
  await start();
  let clicks = 0;
  for (const step of steps) {
    clicks += 1;
    if (step.search) await find(step.search);
    else if (step.open) await tabTo(page, page.locator("summary", { hasText: step.open }).first(), seen).then(() => page.keyboard.press("Enter"));
    else await tabTo(page, page.getByRole("link", { name: step.link, exact: true }).first(), seen, step.isBack ? "Shift+Tab" : "Tab").then(() => page.keyboard.press("Enter"));
    await page.locator("h1", { hasText: step.title }).waitFor();
    await settled(page);
  }
  await page.locator("main", { hasText: reason }).waitFor().catch(() => null);
  await look(name);
  seen.ways[name] = clicks;
}

// The page of a call of an agent is open. Its agent session has no page, and the audit has who made it.
seen.toSession = await page.locator("main a[href*='ags_']").evaluateAll((links) => links.map((link) => link.getAttribute("href")));

// The search field opens the only thing that has a name, and says if there is none or several.
const names = [
  ["acme", "Tenant acme", "OAuth clients"],
  ["mail", "Connector mail", "Operations"],
  ["lost", "Key key_", "Begins with"],
  ["dora", "User dora", "What is wrong"],
  ["fay", "User fay", "Links to connect accounts, the one that expires last first"],
  ["nobody-goes-by-this", "Find nobody-goes-by-this", "Nothing here has this name."],
  ["plain", "Find plain", "Several things have this name."],
];
for (const [name, title, text] of names) {
  await start();
  await find(name);
  await page.locator("h1", { hasText: title }).waitFor();
  await page.locator("main", { hasText: text }).waitFor();
  await settled(page);
  seen.found[name] = await page.innerText("main");
}
await look("several");

// A key is found by its beginning. Of a whole key, only the beginning gets into an address.
for (const [name, text] of [["a whole key", lost], ["the beginning of a key", lost.slice(0, 8)]]) {
  await start();
  await find(text);
  await page.locator("h1", { hasText: "Key key_" }).waitFor();
  await page.locator("main", { hasText: "Begins with" }).waitFor();
  await settled(page);
  seen.found[name] = await page.innerText("main");
}
await page.keyboard.press("Control+k");
seen.shortcut = await search().evaluate((field) => document.activeElement === field);

// On a small screen, the screens are behind a button, which closes when one is opened.
await resize(page, 320);
const menu = page.getByRole("button", { name: "Screens" });
await tabTo(page, menu, seen, "Shift+Tab");
await page.keyboard.press("Enter");
await tabTo(page, page.getByRole("link", { name: "Jobs", exact: true }), seen);
await page.keyboard.press("Enter");
await page.locator("h1", { hasText: "Jobs" }).waitFor();
await settled(page);
seen.menu = await menu.getAttribute("aria-expanded");
await resize(page, 1280);

// The overview does not say that all is well if the gateway does not tell.
await page.route("**/admin/**", (route) => route.fulfill({ status: 503, json: { title: "The store does not answer" } }));
await visit(page, `${address}/console#/overview`);
await page.locator("main .problem", { hasText: "Not everything could be checked." }).waitFor();
seen.well = await page.locator("main .success").count();
await page.unroute("**/admin/**");

// The overview refreshes itself while it is seen. The clock is the test's own, so that nobody waits.
await page.clock.install();
let asked = 0;
page.on("request", (request) => {
  if (request.url().includes("/admin/calls")) asked += 1;
});
// For a request that must not come, a short time is enough: the clock has passed the time of several.
const after = async (name, tries, act) => {
  const before = asked;
  await act();
  for (let left = tries; left > 0 && asked === before; left -= 1) await page.waitForTimeout(200);
  seen.refreshes.push([name, asked > before]);
  await settled(page);
};
await start();
await visit(page, `${address}/console#/overview`);
await page.getByText("Refreshed at").waitFor();
await settled(page);
const hide = (hidden) => page.evaluate((hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}, hidden);
await after("seen", 600, () => page.clock.runFor(16_000));
// The time goes on by itself too. What was asked before the page was hidden is answered first.
await hide(true);
await settled(page);
await after("hidden", 10, () => page.clock.runFor(120_000));
await after("seen again", 600, () => hide(false));

// A page that stays open says anew how long ago each time was.
const open = await page.context().newPage();
await open.goto(`${address}/console#/calls`);
await open.locator("td time").first().waitFor();
await settled(open);
await page.clock.fastForward("30:00:00");
await open.locator("td time", { hasText: "1 day ago" }).first().waitFor();

// Nothing waits for a request that is late on purpose.
await page.unrouteAll({ behavior: "ignoreErrors" });
await browser.close();
console.log(JSON.stringify(seen));
