// Looks for texts of the API page with too little contrast (WCAG 2.1, 1.4.3): the first screen of each connector's page, and the whole
// page of the connectors that are named twice.
//
// The arguments are the browser, the gateway's address and the connectors. The program prints what it found as JSON.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { resize, still } from "./looks.mjs";

const [executablePath, address, ...names] = process.argv.slice(2);
const LOOKS = [
  { look: "light", colorScheme: "light", width: 1280 },
  { look: "dark", colorScheme: "dark", width: 1280 },
  { look: "narrow", colorScheme: "light", width: 360 },
  { look: "narrow and dark", colorScheme: "dark", width: 360 },
];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(120_000);

/**
 * Scrolls through the page, because operations are shown when they come into view. Each step waits until the browser has drawn the part, told
 * the page that it is seen, and the page has nothing to do.
 */
async function scroll() {
  for (let [at, end] = [0, 1]; at < end; at += 600) {
    end = await page.evaluate(async (at) => {
      window.scrollTo(0, at);
      for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame);
      await new Promise((done) => setTimeout(done, 50));
      await new Promise((done) => requestIdleCallback(done, { timeout: 10_000 }));
      return document.documentElement.scrollHeight;
    }, at);
  }
  await still(page);
}

/** The violations of a page, one for each pair of colors. */
async function violations() {
  const found = await page.evaluate(() => axe.run(document, { runOnly: ["color-contrast"], resultTypes: ["violations"] }));
  const nodes = found.violations.flatMap((violation) => violation.nodes);
  const pairs = nodes.map(({ any: [{ data }], html }) => [`${data.fgColor} on ${data.bgColor}: ${data.contrastRatio}`, html.slice(0, 200)]);
  return Object.entries(Object.fromEntries(pairs)).map(([pair, html]) => `${pair} ${html}`);
}

const seen = { checked: 0, violations: [] };
for (const name of new Set(names)) {
  await page.emulateMedia({ colorScheme: "light" });
  await resize(page, 1280, 800);
  await page.goto(`${address}/docs/${name}`);
  await page.getByRole("heading", { name: "Connector Gateway" }).first().waitFor();
  await still(page);
  if (names.filter((other) => other === name).length > 1) await scroll();
  await page.evaluate(axe);
  for (const { look, colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await resize(page, width, 800);
    await page.locator(`body.${colorScheme}-mode`).waitFor();
    await still(page);
    seen.checked += 1;
    for (const violation of await violations()) seen.violations.push(`${name}, ${look}: ${violation}`);
  }
}
await browser.close();
console.log(JSON.stringify(seen));
