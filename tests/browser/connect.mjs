// Connects accounts on the page for end users: without JavaScript, by the keyboard, in light and dark and on a narrow screen.
//
// The arguments are the browser, the gateway's address, the provider's address, the link, a link that has expired, and the key of the user.
// The program prints what it saw as JSON.

import { chromium } from "playwright-core";
import { axe, LOOKS } from "./looks.mjs";

const [executablePath, address, provider, link, expired, key] = process.argv.slice(2);
const seen = { elsewhere: [], errors: [], violations: [], checked: 0, measured: 0, wide: [], pages: {} };

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});

/** A person's browser that reaches the gateway and the provider only. */
async function person(javaScriptEnabled) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, javaScriptEnabled });
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if ([address, provider].some((origin) => url.startsWith(`${origin}/`))) return route.continue();
    seen.elsewhere.push(url);
    return route.fulfill({ contentType: "text/html", body: "<title>The application</title>" });
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => seen.errors.push(error.message));
  page.on("console", (message) => {
    // A page with 403, 404 or 410 is what the test asks for.
    if (message.type() === "error" && !message.text().includes("the server responded with a status of 4")) seen.errors.push(message.text());
  });
  return page;
}

/** Looks for violations of accessibility in all looks of the page, and for parts that are wider than the screen. */
async function check(page, name) {
  for (const { colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate(axe);
    // axe leaves out the size of targets, unless it is asked for.
    const rules = { "target-size": { enabled: true } };
    const found = await page.evaluate((rules) => axe.run(document, { rules, resultTypes: ["violations"] }), rules);
    seen.measured += await page.evaluate(
      async (rules) => {
        const { passes, inapplicable } = await axe.run(document, { rules, runOnly: { type: "rule", values: ["target-size"] } });
        return passes.length + inapplicable.length;
      },
      rules,
    );
    seen.violations.push(...found.violations.map(({ id, nodes }) => `${name}, ${colorScheme}, ${width}: ${id} ${nodes[0].html}`));
    if (await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)) seen.wide.push(`${name}, ${width}`);
    seen.checked += 1;
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 800 });
}

// Ann has JavaScript, so that axe can run. The page has none.
const ann = await person(true);
await ann.goto(link);
await check(ann, "open");
seen.logo = await ann.locator("img.logo").evaluate((image) => image.naturalWidth > 0);
await ann.getByText("The application may").first().click();
await check(ann, "details");

// By the keyboard alone: the first button connects, and the provider's button allows.
await ann.goto(link);
for (let steps = 0; steps < 20; steps += 1) {
  await ann.keyboard.press("Tab");
  if (await ann.evaluate(() => document.activeElement?.tagName === "BUTTON")) break;
}
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
await check(ann, "declined");
await ann.getByRole("button", { name: /^Connect/ }).first().click();
await ann.getByRole("button", { name: "Allow" }).click();
await ann.waitForURL(link);

// Another browser with the same link.
const bob = await person(true);
seen.other = (await bob.goto(link)).status();
seen.pages.other = await bob.innerText("main");
await check(bob, "another browser");
seen.expired = (await bob.goto(expired)).status();
seen.pages.expired = await bob.innerText("main");
await check(bob, "expired");

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
await check(ann, "complete");
await ann.getByRole("button", { name: "Done" }).click();
await ann.waitForURL(/status=success/);
seen.end = ann.url();

await browser.close();
console.log(JSON.stringify(seen));
