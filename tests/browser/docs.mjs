// Uses the API page in a browser: comes from the page at the root by the keyboard, searches an operation and tries a call with a key.
//
// The arguments are the browser, the gateway's address, the key, the file for a picture, and the names of the connectors as JSON. The program
// prints what it saw as JSON.

import { chromium } from "playwright-core";
import { inEveryLook, nothingLookedAt, still, tabTo } from "./looks.mjs";
import { take } from "./pictures.mjs";

const [executablePath, address, key, picture, namesText] = process.argv.slice(2);

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
page.setDefaultTimeout(120_000);

const seen = { ...nothingLookedAt(), elsewhere: [], errors: [], urls: [], calls: [] };
// The network is off: only the gateway can be reached.
await context.route("**/*", (route) => {
  const url = route.request().url();
  if (url.startsWith(`${address}/`)) {
    seen.urls.push(url);
    return route.continue();
  }
  seen.elsewhere.push(url);
  return route.abort();
});
page.on("pageerror", (error) => seen.errors.push(error.message));
page.on("console", (message) => {
  if (message.type() === "error") seen.errors.push(message.text());
});
page.on("response", (response) => {
  if (response.request().method() === "POST") seen.calls.push({ url: response.url(), status: response.status() });
});

/** The lines of the list of contents, when it has all of these. The page fills it after it has its heading. */
async function contents(lines) {
  const list = page.locator("aside, nav").first();
  await page.waitForFunction((lines) => {
    const there = document.querySelector("aside, nav")?.innerText.split("\n") ?? [];
    return lines.every((line) => there.includes(line));
  }, lines);
  return list.innerText();
}

await page.goto(`${address}/`);
await inEveryLook(page, "root", seen);
await tabTo(page, page.getByRole("link", { name: "Console" }), seen);
await tabTo(page, page.getByRole("link", { name: "API" }), seen, "Shift+Tab");
await page.keyboard.press("Enter");
await page.waitForURL(`${address}/docs`);
await page.getByRole("heading", { name: "Connector Gateway" }).first().waitFor();
seen.sections = await contents(JSON.parse(namesText));

await page.getByRole("button", { name: /search/i }).first().click();
await page.getByRole("combobox").first().fill("categories");
const found = page.getByRole("option", { name: /preprint_archive\/get_categories/ }).first();
await found.waitFor();
seen.found = await found.innerText();
await found.click();

await page.getByRole("button", { name: /test request.*get_categories/i }).first().click();
const client = page.getByRole("dialog").last();
await client.getByPlaceholder("Token").fill(key);
await client.getByRole("button", { name: /^send post request/i }).or(client.getByRole("button", { name: /^send/i })).first().click();
await page.getByText("astro-ph.CO").first().waitFor();
await still(page);
seen.screen = await take(page, picture, client);

seen.stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
seen.address = page.url();

await page.goto(`${address}/docs/preprint_archive`);
await page.getByRole("heading", { name: "Connector Gateway" }).first().waitFor();
seen.one = await contents(["get_categories"]);

await page.getByRole("button", { name: /search/i }).first().click();
await page.getByRole("combobox").first().fill("metadata of a paper");
// The hits of what was typed replace the list of all operations.
await page.locator("a[role=option]").first().filter({ hasText: "get_paper_metadata" }).waitFor();
await still(page);
await page.keyboard.press("Enter");
await page.waitForURL(/get_paper_metadata/);
seen.entered = page.url();

await page.goto(`${address}/docs/dex_market_data#tag/dex-market-data/POST/connectors/dex_market_data/search_pairs`);
const answer = page.locator("[id$='/search_pairs.responses.200']");
await answer.waitFor();
await still(page);
await answer.click();
const members = answer.locator("..");
await members.getByText("schemaVersion").first().waitFor();
await still(page);
seen.answer = await members.innerText();

await browser.close();
console.log(JSON.stringify(seen));
