// Tries operations and makes changes in the console, by keyboard where a person would, and signs out.
//
// The arguments are the browser, the gateway's address, a key of the scope `admin`, a hostile text, a key of a user at a service, the ids
// of things to change as JSON, and a file. The program prints what it saw as JSON.

import { chromium } from "playwright-core";
import { check, confirm, nothingSeen, openScreen, OPTIONS, person, refreshUntil, settled, signIn, visit } from "./console_person.mjs";
import { tabTo } from "./looks.mjs";

const [executablePath, address, key, hostile, userKey, idsText, file] = process.argv.slice(2);
const ids = JSON.parse(idsText);
const seen = { ...nothingSeen(), typed: [], said: {} };
const browser = await chromium.launch({ executablePath, args: OPTIONS });
const page = await person(browser, address, seen);
const look = (name) => check(page, name, seen);

/** Holds back the answers to requests for addresses of a pattern, until the function that this returns is called. */
async function holdBack(pattern) {
  let release;
  const released = new Promise((done) => {
    release = done;
  });
  await page.route(pattern, async (route) => {
    await released;
    return route.fallback();
  });
  return async () => {
    release();
    await settled(page);
    await page.unroute(pattern);
  };
}

const shown = (name) => page.getByRole("region", { name, exact: true }).innerText();

async function open(place, text) {
  await visit(page, `${address}/console#/${place}`);
  await page.locator("main", { hasText: text }).waitFor();
  await settled(page);
}

await page.goto(`${address}/console`);
await signIn(page, key, seen);

// Notes what the page says about changes. It shows that for a while only, and the machine may be slow.
await page.evaluate(() => {
  window.said = [];
  let last = null;
  new MutationObserver(() => {
    const shown = document.querySelector(".said");
    if (shown && shown !== last) window.said.push(shown.textContent);
    last = shown;
  }).observe(document.body, { subtree: true, childList: true });
});
/** The next thing that the page says after an act. */
async function saidAfter(act) {
  const before = await page.evaluate(() => window.said.length);
  await act();
  await page.waitForFunction((before) => window.said.length > before, before);
  return page.evaluate((before) => window.said[before], before);
}

// The second page of a list, and back. The rows of each page are sorted, and the list says that the pages are not.
await page.locator("#main").getByText("50 entries on this page.").waitFor();
const heading = page.getByRole("button", { name: "Duration", exact: true });
seen.pages["what sorting does"] = await heading.getAttribute("title");
await tabTo(page, heading, seen);
await page.keyboard.press("Enter");
await page.locator("th[aria-sort=ascending]", { hasText: "Duration" }).waitFor();
await look("first page");
await tabTo(page, page.getByRole("link", { name: "Next page" }), seen);
await page.keyboard.press("Enter");
await page.getByRole("link", { name: "First page" }).waitFor();
await settled(page);
await look("second page");
await tabTo(page, page.getByRole("link", { name: "First page" }), seen);
await page.keyboard.press("Enter");
await page.locator("#main").getByText("50 entries on this page.").waitFor();
await page.locator("th[aria-sort=ascending]", { hasText: "Duration" }).waitFor();

// While a list loads, it keeps what someone types into its filters.
const answerList = await holdBack("**/admin/calls*");
await page.getByRole("button", { name: "Refresh", exact: true }).click();
await tabTo(page, page.getByLabel("Connector", { exact: true }), seen, "Shift+Tab");
await page.keyboard.type("free");
await answerList();
seen.typed.push(await page.getByLabel("Connector", { exact: true }).inputValue());

// A choice that was not sent does not stay as if it held.
await page.getByLabel("Who can act").selectOption("provider");
await page.getByRole("button", { name: "Last hour", exact: true }).click();
await page.waitForURL(/since=/);
await settled(page);
seen.chosen = await page.getByLabel("Who can act").inputValue();

// An account is connected from Try, on the page for users, and used.
await open("try/keyed/whoami", "The same call");
await tabTo(page, page.getByRole("button", { name: "Connect an account" }), seen);
await page.keyboard.press("Enter");
const link = page.getByRole("link", { name: "Open the page that connects an account" });
await link.waitFor();
const users = await page.context().newPage();
await users.goto(await link.getAttribute("href"));
await users.getByLabel("API key").fill(userKey);
await users.getByRole("button", { name: /^Connect/ }).click();
await users.getByText("Connected as").waitFor();
await users.close();
await page.bringToFront();
await tabTo(page, page.getByRole("button", { name: "Then show the new account here" }), seen);
await page.keyboard.press("Enter");
await page.locator("option", { hasText: "default (active)" }).waitFor({ state: "attached" });
await look("connected");
await page.getByLabel("Account").selectOption("default");
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
await page.getByRole("region", { name: "Body" }).getByText("ann@keyed.example").waitFor();

// The same call as programs. The name of the account, the text and the number need care.
await open("try/keyed/forward", "The same call");
await page.getByLabel("Account").selectOption(ids.account);
await tabTo(page, page.getByRole("button", { name: "Show as JSON" }), seen);
await page.keyboard.press("Enter");
await page.getByLabel("Body as JSON").fill(ids.body);
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
await page.getByRole("heading", { name: "Answer" }).waitFor();
await page.getByText("For programs and agents").click();
await look("programs");
seen.answer = await shown("Body");
seen.programs = { curl: await shown("curl"), python: await shown("Python"), javascript: await shown("JavaScript") };

// A call on this account fails. Its page names the account, and so does the command that repeats it.
await page.getByLabel("Body as JSON").fill(JSON.stringify({ path: "/down" }));
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
await page.locator("dd").getByText("502", { exact: true }).waitFor();
await tabTo(page, page.locator("dd").getByRole("link"), seen);
await page.keyboard.press("Enter");
await page.locator("h1", { hasText: "Call" }).waitFor();
// The record is written a moment after the answer.
await refreshUntil(page, page.getByText("The account"));
await look("failed call");
// The reason leads to the account itself, not to a list of accounts.
const ofReason = page.locator(".reason").getByRole("link", { name: ids.account, exact: true });
seen.account = await ofReason.getAttribute("href", { timeout: 60_000 }).catch(() => null);

// The form of an operation has the fields of its example, and the answer has its members with their types.
await open("try/dex_market_data/get_pairs_by_token", "The same call");
const chain = page.getByLabel("chain_id", { exact: true });
seen.example = [await chain.isVisible(), await chain.inputValue()];
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
const member = page.getByRole("row", { name: /^baseToken\.name/ });
await member.waitFor();
seen.member = await member.getByRole("cell").allInnerTexts();
await look("typed answer");

// A form says that it would change a number, and does not take it.
await page.route("**/openapi.json*", async (route) => {
  const answer = await route.fetch();
  const described = await answer.json();
  const schema = { type: "object", required: ["count"], properties: { count: { type: "integer" } } };
  described.paths["/connectors/free/composed"].post.requestBody = { content: { "application/json": { schema } } };
  return route.fulfill({ response: answer, json: described });
});
await open("try/free/composed", "The same call");
await page.locator("#field-count").fill("12345678901234567890");
await page.keyboard.press("Tab");
seen.digits = await page.locator("#field-count").evaluate((field) => field.validationMessage);
await page.unroute("**/openapi.json*");

// An operation that deletes asks first.
await open("try/free/erase", "The same call");
await page.getByText("further fields").click();
await page.getByLabel("path", { exact: true }).fill("/erase");
// Enter in a form with one field submits it. Nothing may be sent without the question.
await page.locator("#main form").last().evaluate((form) => form.requestSubmit());
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
await page.getByRole("dialog").waitFor();
seen.warning = await page.getByRole("dialog").innerText();
await page.keyboard.press("Escape");
await page.locator("dialog").waitFor({ state: "detached" });
await confirm(page, page.getByRole("button", { name: "Send" }), seen);
await page.getByRole("heading", { name: "Answer" }).waitFor();
await look("erased");

// A file. While an earlier call runs, the button takes no second one, keeps the focus, and the fields keep what someone types.
await open("try/free/forward", "The same call");
await page.getByText("further fields").click();
await page.getByLabel("path", { exact: true }).fill("/earlier");
const answerCall = await holdBack("**/connectors/free/forward");
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
await page.getByRole("button", { name: "Sending …" }).waitFor();
await page.keyboard.press("Enter");
const held = await page.evaluate(() => document.activeElement?.textContent);
if (held !== "Sending …") seen.unreached.push(`the focus during a call is on ${held}`);
await tabTo(page, page.getByLabel("path", { exact: true }), seen, "Shift+Tab");
await page.keyboard.press("Control+a");
await page.keyboard.type("/upload");
await answerCall();
await page.getByRole("heading", { name: "Answer" }).waitFor();
seen.typed.push(await page.getByLabel("path", { exact: true }).inputValue());
await page.getByLabel("method", { exact: true }).fill("POST");
await page.keyboard.press("Tab");
await page.getByLabel("file", { exact: true }).setInputFiles(file);
await look("file");
const received = page.waitForResponse("**/connectors/free/forward");
await tabTo(page, page.getByRole("button", { name: "Send" }), seen);
await page.keyboard.press("Enter");
await received;
await settled(page);

// A file is saved with the name that the service gave it.
await page.route("**/connectors/free/forward", (route) => route.fulfill({
  headers: { "content-type": "application/pdf", "content-disposition": "attachment; filename=\"plan.pdf\"; filename*=UTF-8''Pl%C3%A4ne.pdf" },
  body: "%PDF",
}));
await page.getByRole("button", { name: "Send" }).click();
const saved = page.waitForEvent("download");
await page.getByRole("button", { name: "Save the file" }).click();
seen.saved = (await saved).suggestedFilename();
await page.unroute("**/connectors/free/forward");

// The session ends while someone types. What they have entered is there when they have signed in again.
await page.getByLabel("path", { exact: true }).fill("/kept");
await page.keyboard.press("Tab");
await page.context().clearCookies();
await page.getByRole("button", { name: "Send" }).click();
await page.getByLabel("API key").waitFor();
await signIn(page, key, seen);
seen.typed.push(await page.getByLabel("path", { exact: true }).inputValue());

// A part that the gateway refuses is not shown as empty.
await page.route("**/admin/connectors/free/history*", (route) => route.fulfill({ status: 503, json: { title: "The store does not answer" } }));
await visit(page, `${address}/console#/connectors/free`);
await page.getByRole("alert").waitFor();
seen.pages["refused part"] = await page.innerText("main");
await page.unroute("**/admin/connectors/free/history*");

// What is deleted asks first, says what will happen, and takes a reason.
const remove = async (name, place, text, label, reason, after) => {
  await open(place, text);
  const button = page.getByRole("button", { name: label, exact: true });
  await tabTo(page, button, seen);
  await page.keyboard.press("Enter");
  const dialog = page.locator("dialog");
  await dialog.waitFor();
  await settled(page);
  seen.pages[`asked: ${name}`] = await dialog.innerText();
  await tabTo(page, dialog.getByRole("button", { name: "Cancel", exact: true }), seen);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  // What the change has done is on the page, also after the screen of what was deleted is gone.
  seen.said[name] = await saidAfter(() => confirm(page, button, seen, reason));
  await dialog.waitFor({ state: "detached" });
  await page.locator("main", { hasText: after }).waitFor();
  await settled(page);
  if (await page.evaluate(() => document.activeElement === document.body)) seen.unreached.push(`nothing has the focus after the change: ${name}`);
  await look(`done: ${name}`);
};

// A question stays about its row when the list is loaded again behind it, and has another row before.
await open("tool-sets", "agents");
await page.getByRole("row", { name: /agents/ }).getByRole("button", { name: "Delete" }).click();
const list = await page.evaluate(async () => (await fetch("mcp-sets")).json());
list.sets.unshift({ ...list.sets[0], name: "another-one" });
await page.route("**/mcp-sets*", (route) => route.fulfill({ json: list }));
await page.evaluate(() => [...document.querySelectorAll("main button")].find((one) => one.textContent === "Refresh").click());
await page.locator("td", { hasText: "another-one" }).first().waitFor();
seen.asked = await page.getByRole("dialog").getByRole("heading").innerText();
await page.unroute("**/mcp-sets*");
await page.keyboard.press("Escape");
await page.locator("dialog").waitFor({ state: "detached" });

await remove("client", "tenants/acme", "OAuth clients", "Delete", "ticket 7", "The tenant uses the OAuth clients of the configuration.");
await remove("inbox", `inboxes/${ids.inbox}`, "Address for the service", "Delete", "ticket 11", "There is no inbox.");
await remove("trigger", `triggers/${ids.trigger}`, "Learns of events by", "Delete", "ticket 12", "that tenants want to know of");
await remove("account of a tenant", `integrations/${ids.own}`, "At the service", "Delete", "ticket 13", "of all tenants, the newest first");
await remove("account", `integrations/${ids.integration}`, "At the service", "Delete", hostile, "of all tenants, the newest first");
await remove("key", `keys/${ids.key}`, "Begins with", "Revoke", "Prüfung", "Statusrevoked");
await remove("tool set", "tool-sets", "agents", "Delete", "ticket 8", "There is no tool set.");
await remove("job", `jobs/${ids.job}`, "Progress", "Cancel the job", "ticket 9", "Statusfailed");
await remove("connector", "connectors/liar", "Operations", "Remove", "ticket 10", "what each gateway serves of them");
await openScreen(page, "Audit", seen);
await page.getByText("ticket 10").waitFor();
await look("audit");
if ((await page.title()).includes("taken")) seen.elements.push("a text of others has run");

// A session that the gateway did not end is not said to have ended.
await page.route("**/console/session", (route) => (route.request().method() === "DELETE" ? route.fulfill({ status: 503, json: {} }) : route.fallback()));
seen.said["not signed out"] = await saidAfter(() => page.getByRole("button", { name: "Sign out" }).click());
await page.unroute("**/console/session");

// Signing out ends the session, and not only its page.
const [cookie] = (await page.context().cookies()).filter(({ name }) => name === "__Host-console");
await tabTo(page, page.getByRole("button", { name: "Sign out" }), seen, "Shift+Tab");
await page.keyboard.press("Enter");
await page.getByLabel("API key").waitFor();
await look("signed out");
seen.cookies = (await page.context().cookies()).map(({ name }) => name).filter((name) => name.startsWith("__Host-"));
await page.context().addCookies([cookie]);
await page.reload();
await page.getByLabel("API key").waitFor();
seen.ended = await page.evaluate(async () => (await fetch("console/session")).status);

await browser.close();
console.log(JSON.stringify(seen));
