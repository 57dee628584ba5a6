// Connects an account on the page for end users in a browser without JavaScript.
//
// The arguments are the browser and the link. The program prints the text of the page at the end.

import { chromium } from "playwright-core";

const [executablePath, link] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"] });
const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
page.setDefaultTimeout(120_000);
await page.goto(link);
await page.getByRole("button", { name: /^Connect/ }).first().click();
await page.getByRole("button", { name: "Allow" }).click();
await page.waitForURL(link);
console.log(JSON.stringify(await page.locator("main").innerText()));
await browser.close();
