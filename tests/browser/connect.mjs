// Connects accounts on the page for end users: by the keyboard, in light and dark and on a narrow screen, in English and in German.
//
// The arguments are the browser, the gateway's address, the provider's address, the link, a link to an account with further ways to connect
// it, a link that has expired, a link for a user whose browser asks for German, and the key of the user. The program prints what it saw as
// JSON.

import { chromium } from "playwright-core";
import { inEveryLook, nothingLookedAt, tabTo } from "./looks.mjs";

const [executablePath, address, provider, link, further, expired, german, key] = process.argv.slice(2);
const seen = { ...nothingLookedAt(), elsewhere: [], errors: [], pages: {}, german: {} };

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});

/** A person's browser that reaches the gateway and the provider only. It asks for pages in a language. */
async function person(locale = "en-US") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale });
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if ([address, provider].some((origin) => url.startsWith(`${origin}/`))) return route.continue();
    seen.elsewhere.push(url);
    return route.fulfill({ contentType: "text/html", body: "<title>The application</title>" });
  });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (message) => {
    // A page with 403, 404 or 410 is what the test asks for.
    if (message.type() === "error" && !message.text().includes("the server responded with a status of 4")) seen.errors.push(message.text());
  });
  return page;
}

/** Waits until a page with this heading is there to its end. */
async function arriveAt(page, heading) {
  await page.locator("h1", { hasText: heading }).waitFor();
  await page.waitForLoadState();
}

// Ann has JavaScript, so that axe can run. The page has none.
const ann = await person();
await ann.goto(link);
await inEveryLook(ann, "open", seen);
seen.logo = await ann.locator("img.logo").evaluate((image) => image.naturalWidth > 0);
await ann.getByText("Acme Desk may").first().click();
await inEveryLook(ann, "details", seen);

// By the keyboard alone: the first button connects, and the provider's button allows.
await ann.goto(link);
await tabTo(ann, ann.getByRole("button", { name: /^Connect/ }).first(), seen);
await ann.keyboard.press("Enter");
await ann.waitForURL(`${provider}/**`);
await ann.getByRole("button", { name: "Allow" }).focus();
await ann.keyboard.press("Enter");
await ann.waitForURL(link);
seen.pages.connected = await ann.innerText("main");

// Ann declines, and tries again.
await ann.getByRole("button", { name: /^Connect/ }).first().click();
await ann.getByRole("button", { name: "Deny" }).click();
await ann.waitForURL(/error=access_denied/);
seen.pages.declined = await ann.innerText("main");
await inEveryLook(ann, "declined", seen);
await ann.getByRole("button", { name: /^Connect/ }).first().click();
await ann.getByRole("button", { name: "Allow" }).click();
await ann.waitForURL(link);

// The other ways to connect an account have forms, and one of them leads to a code. Ann uses the keyboard alone.
await ann.goto(further);
for (const summary of await ann.locator("summary").all()) {
  await tabTo(ann, summary, seen);
  await ann.keyboard.press("Enter");
}
await inEveryLook(ann, "ways", seen);
await ann.goto(further);
await tabTo(ann, ann.getByText("With a code, on this or another device"), seen);
await ann.keyboard.press("Enter");
await tabTo(ann, ann.locator("form", { has: ann.locator('[value="oauth2_device_code"]') }).getByRole("button"), seen);
await ann.keyboard.press("Enter");
await arriveAt(ann, "Enter this code at the service");
seen.pages.code = await ann.innerText("main");
await inEveryLook(ann, "code", seen);
await tabTo(ann, ann.getByRole("link", { name: `${provider}/activate` }), seen);
await tabTo(ann, ann.getByRole("link", { name: "I have entered the code" }), seen);
await ann.keyboard.press("Enter");
await arriveAt(ann, "Connect your accounts");
await ann.goto(link);

// Another browser with the same link.
const bob = await person();
seen.other = (await bob.goto(link)).status();
seen.pages.other = await bob.innerText("main");
await inEveryLook(bob, "another browser", seen);
seen.expired = (await bob.goto(expired)).status();
seen.pages.expired = await bob.innerText("main");
await inEveryLook(bob, "expired", seen);

// A key that the service refuses, and one that it takes.
await ann.getByLabel("API key").fill("another-key-of-the-user");
await ann.getByRole("button", { name: /^Connect/ }).click();
await ann.waitForURL(/error=key_refused/);
seen.pages.refused = await ann.innerText("main");
seen.shown = (await ann.content()).includes("another-key");
await ann.getByLabel("API key").fill(key);
await ann.getByRole("button", { name: /^Connect/ }).click();
await ann.waitForURL(link);
seen.pages.complete = await ann.innerText("main");
await inEveryLook(ann, "complete", seen);
await ann.getByRole("button", { name: "Done" }).click();
await ann.waitForURL(/status=success/);
seen.end = ann.url();

/** Notes the language and the texts of a page, and looks at it. */
async function lookInGerman(page, name) {
  seen.german[name] = await page.evaluate(() => ({
    language: document.documentElement.lang,
    title: document.title,
    buttons: [...document.querySelectorAll("button, .button")].map((one) => one.textContent),
    text: document.querySelector("main").innerText,
  }));
  await inEveryLook(page, `${name}, in German`, seen);
}

// Greta sees each page in German: all ways to connect, what she declines, a key that is refused, a code, and what she has connected.
const greta = await person("de-DE");
await greta.goto(german);
for (const summary of await greta.locator("summary").all()) {
  await tabTo(greta, summary, seen);
  await greta.keyboard.press("Enter");
}
await lookInGerman(greta, "open");
await greta.goto(german);
await greta.getByRole("button", { name: /verbinden$/ }).first().click();
await greta.getByRole("button", { name: "Deny" }).click();
await greta.waitForURL(/error=access_denied/);
await lookInGerman(greta, "declined");
await greta.getByLabel("API-Schlüssel").fill("another-key-of-the-user");
await greta.locator("form", { has: greta.locator("[name=api_key]") }).getByRole("button").click();
await greta.waitForURL(/error=key_refused/);
await lookInGerman(greta, "refused");
await greta.getByText("Mit einem Code, auf diesem oder einem anderen Gerät").click();
await greta.locator("form", { has: greta.locator('[value="oauth2_device_code"]') }).getByRole("button").click();
await arriveAt(greta, "Geben Sie diesen Code beim Dienst ein");
await lookInGerman(greta, "code");
await greta.getByRole("link", { name: "Ich habe den Code eingegeben" }).click();
await arriveAt(greta, "Konten verbinden");
await greta.getByRole("button", { name: /verbinden$/ }).first().click();
await greta.getByRole("button", { name: "Allow" }).click();
await greta.waitForURL(german);
await lookInGerman(greta, "connected");
const hans = await person("de-DE");
await hans.goto(german);
await lookInGerman(hans, "other");
await greta.getByRole("button", { name: "Ohne die anderen abschließen" }).click();
await arriveAt(greta, "Sie sind fertig");
await lookInGerman(greta, "finished");
await greta.goto(expired);
await lookInGerman(greta, "expired");

await browser.close();
console.log(JSON.stringify(seen));
