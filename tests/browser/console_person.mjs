// An operator's browser: it reaches the gateway alone, notes every fault of the page, and uses the keyboard.

import { checkWidth, inEveryLook, nothingLookedAt, resize, tabTo } from "./looks.mjs";

/** A browser that may reach one origin, and `others`. What it sees is noted in `seen`. */
export async function person(browser, origin, seen, others = []) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
  await context.route("**/*", (route) => {
    const url = route.request().url();
    seen.urls.push(url);
    if ([origin, ...others].some((one) => url.startsWith(`${one}/`))) return route.continue();
    // A page of others may want anything, which it does not get.
    if (others.some((one) => route.request().frame().url().startsWith(`${one}/`))) return route.fulfill({ body: "" });
    seen.elsewhere.push(url);
    return route.abort();
  });
  await context.exposeFunction("noteViolation", (text) => seen.policy.push(text));
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => window.noteViolation(`${event.violatedDirective} ${event.blockedURI}`));
  });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (message) => {
    // Answers with a status of 400 and more are what the test asks for.
    if (["error", "warning"].includes(message.type()) && !message.text().includes("the server responded with a status of")) seen.errors.push(message.text());
  });
  return page;
}

/**
 * Opens an address. If the page is in the console already, it stays and hears of its new place after the navigation. This waits until it has
 * heard of it, so that nothing of the screen before is taken for the new one.
 */
export async function visit(page, url) {
  await page.evaluate((url) => {
    const stays = url.includes("#") && url.split("#")[0] === location.href.split("#")[0] && new URL(url).href !== location.href;
    window.moved = stays && new Promise((done) => addEventListener("hashchange", () => done(true), { once: true }));
  }, url);
  await page.goto(url);
  // Another document knows nothing of it.
  await page.evaluate(() => window.moved);
}

/** Refreshes a screen until it has a part that the gateway has to show only later. */
export async function refreshUntil(page, part) {
  for (const end = Date.now() + 120_000; Date.now() < end && !(await part.count()); ) {
    await page.getByRole("button", { name: "Refresh", exact: true }).click();
    await settled(page);
    await part.first().waitFor({ timeout: 500 }).catch(() => null);
  }
  await part.first().waitFor();
}

/** Waits until the page says of nothing that it is busy. */
export const settled = (page) => page.waitForFunction(() => !document.querySelector('[aria-busy="true"], [aria-disabled="true"]'));

/** Notes the text, the picture and the place of a page, and looks for faults in all of its looks. */
export async function check(page, name, seen) {
  await settled(page);
  seen.pages[name] = await page.innerText("main");
  await page.screenshot({ path: `screens/${name.replaceAll(/\W+/g, "-")}.png`, fullPage: true });
  const place = await page.evaluate(() => location.hash.replace(/^#\/?/, "").split("?")[0].split("/"));
  seen.places.push(place.length > 1 ? `one of ${place[0]}` : place[0]);
  // Texts of others are text nodes. An element of theirs would be one that the console never makes.
  const foreign = await page.evaluate(() => [...document.querySelectorAll("img, iframe, object, embed, b, i, body script, [onerror], [onclick]")].map((one) => one.outerHTML));
  seen.elements.push(...foreign.map((html) => `${name}: ${html}`));
  await inEveryLook(page, name, seen, async (width) => {
    // The head leaves the screen to what the page is about.
    if (await page.evaluate(() => document.querySelector("header")?.offsetHeight > 120)) seen.wide.push(`the head of ${name}, ${width}`);
  });
  for (const width of [...WIDTHS, 1280]) {
    await resize(page, width);
    await checkWidth(page, name, seen);
    const broken = await page.evaluate(idsInTwoLines);
    seen.broken.push(...broken.map((id) => `${name}, ${width}: ${id}`));
  }
}

/** Runs in the browser. Returns the ids in cells and facts whose last character is not in the line of the first. */
function idsInTwoLines() {
  const pattern = /\b(?:(?:key|int|job|trg|inb|msg|evt|lnk|whs)_[0-9A-Za-z]{12,}|[0-9a-f]{16}-[0-9a-f]+)\b/g;
  const found = [];
  for (const cell of document.querySelectorAll("td, dd")) {
    const texts = [];
    for (const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT); walker.nextNode();) texts.push(walker.currentNode);
    const places = texts.flatMap((node) => node.data.split("").map((_, offset) => [node, offset]));
    const topOf = ([node, offset]) => {
      const range = document.createRange();
      range.setStart(node, offset);
      range.setEnd(node, offset + 1);
      return range.getBoundingClientRect().top;
    };
    for (const { index, 0: id } of texts.map(({ data }) => data).join("").matchAll(pattern)) {
      if (Math.abs(topOf(places[index]) - topOf(places[index + id.length - 1])) > 4) found.push(id);
    }
  }
  return found;
}

/** Widths at which a list is a table on a screen that has hardly room for it. */
const WIDTHS = [993, 1024, 1152];

/** Opens a screen of the menu by the keyboard. The focus is then on its heading. */
export async function openScreen(page, name, seen) {
  await tabTo(page, page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name, exact: true }), seen, "Shift+Tab");
  await page.keyboard.press("Enter");
  await page.locator("h1", { hasText: name }).waitFor();
  await page
    .waitForFunction(() => document.activeElement?.tagName === "H1")
    .catch(() => seen.unreached.push(`the focus is not on the heading of ${name}`));
  await settled(page);
}

/** What a page starts with: nothing was seen. */
export const nothingSeen = () => ({ ...nothingLookedAt(), broken: [], pages: {}, dialogs: {}, places: [], errors: [], policy: [], elements: [], elsewhere: [], urls: [] });

/** The options of the browser. */
export const OPTIONS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync",
];

/** Signs in with a key by the keyboard alone. */
export async function signIn(page, key, seen) {
  await tabTo(page, page.getByLabel("API key"), seen);
  await page.keyboard.press("Control+a");
  await page.keyboard.type(key);
  await page.keyboard.press("Enter");
}

/**
 * Presses a button by the keyboard, gives a reason if there is one, and presses the last button of the dialog that it opens. Notes what the
 * dialog says, by its heading.
 */
export async function confirm(page, button, seen, reason) {
  await tabTo(page, button, seen);
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  // The dialog counts what the change touches.
  await settled(page);
  seen.dialogs[await dialog.getByRole("heading").innerText()] = await dialog.innerText();
  if (reason) {
    await tabTo(page, dialog.getByLabel("Reason"), seen);
    await page.keyboard.type(reason);
  }
  await tabTo(page, dialog.getByRole("button").last(), seen);
  await page.keyboard.press("Enter");
}
