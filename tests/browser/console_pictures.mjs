// Takes pictures of screens of the console, and of the page on which a user connects accounts.
//
// The arguments are the browser, the gateway's address, a key of the scope `admin`, the screens by their names as JSON, and the folder.
// The program prints what it saw as JSON.

import { chromium } from "playwright-core";
import { nothingSeen, OPTIONS, person, settled, signIn, visit } from "./console_person.mjs";
import { resize } from "./looks.mjs";
import { take } from "./pictures.mjs";

const [executablePath, address, key, screensText, folder] = process.argv.slice(2);
const seen = { ...nothingSeen(), screens: {} };
const browser = await chromium.launch({ executablePath, args: OPTIONS });
const page = await person(browser, address, seen);
await resize(page, 1120, 760);
await page.goto(`${address}/console`);
await signIn(page, key, seen);
await page.locator("h1", { hasText: "Calls" }).waitFor();

for (const [name, { place, url, press, text }] of Object.entries(JSON.parse(screensText))) {
  await visit(page, url ?? `${address}/console#/${place}`);
  if (press) await page.getByRole("button", { name: press, exact: true }).click();
  await page.locator("main", { hasText: text }).waitFor();
  await settled(page);
  seen.pages[name] = await page.innerText("main");
  // The heading has the focus, and the last screen may have been long.
  await page.evaluate(() => {
    document.activeElement?.blur();
    scrollTo(0, 0);
  });
  seen.screens[name] = await take(page, `${folder}/${name}.webp`);
}

await browser.close();
console.log(JSON.stringify(seen));
