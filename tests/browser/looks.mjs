// How each page is looked at: with axe in light and dark, wide and on a small screen, and by the keyboard alone.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Light and dark, wide and on a small screen. */
const LOOKS = [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 1280 },
  { colorScheme: "light", width: 320 },
  { colorScheme: "dark", width: 320 },
];

/** The source of axe, which finds what people with a disability could not use. */
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What the looks at pages note: nothing was seen. */
export const nothingLookedAt = () => ({ violations: [], wide: [], unreached: [], checked: 0 });

/** Notes what axe finds in each look of a page, and parts that are wider than the screen. `further` looks for more in each of them. */
export async function inEveryLook(page, name, seen, further = () => {}) {
  await page.evaluate(axe);
  for (const { colorScheme, width } of LOOKS) {
    await wear(page, colorScheme, width);
    const faults = await page.evaluate(violations);
    seen.violations.push(...faults.map((fault) => `${name}, ${colorScheme}, ${width}: ${fault}`));
    await checkWidth(page, name, seen);
    await further(width);
    seen.checked += 1;
  }
  await wear(page, "light", 1280);
}

/** Gives a page the colors and the width of a look. */
async function wear(page, colorScheme, width) {
  await page.emulateMedia({ colorScheme });
  await page.waitForFunction((scheme) => matchMedia(`(prefers-color-scheme: ${scheme})`).matches, colorScheme);
  await resize(page, width);
}

/** Gives a page a width, and waits until the page has it: the browser may tell the page later. */
export async function resize(page, width, height = 900) {
  await page.setViewportSize({ width, height });
  await page.waitForFunction((width) => window.innerWidth === width, width);
}

/**
 * Waits until a page of others, which does not say that it is busy, stays as it is: it has nothing to do, no color changes, and nothing was
 * added or removed several times in a row. A page on a slow machine has something to do for longer.
 */
export const still = (page) => page.evaluate(async () => {
  let changes = 0;
  const observer = new MutationObserver(() => {
    changes += 1;
  });
  observer.observe(document, { subtree: true, childList: true });
  const began = performance.now();
  const isMoving = () => document.getAnimations().some((one) => one.playState === "running" && one.effect?.getComputedTiming().endTime !== Infinity);
  for (let [before, same] = [-1, 0]; same < 3; ) {
    await new Promise((done) => setTimeout(done, 100));
    await new Promise((done) => requestIdleCallback(done, { timeout: 10_000 }));
    same = changes === before && !isMoving() ? same + 1 : 0;
    before = changes;
    if (performance.now() - began > 120_000) throw new Error("the page does not stay as it is");
  }
  observer.disconnect();
});

/** Runs in the browser. axe leaves out the size of targets, unless it is asked for. */
async function violations() {
  const { violations, ...others } = await axe.run(document, { rules: { "target-size": { enabled: true } }, resultTypes: ["violations"] });
  const rules = [violations, others.passes, others.incomplete, others.inapplicable].flat().map(({ id }) => id);
  const faults = violations.map(({ id, nodes }) => `${id} ${nodes[0].html}`);
  return rules.includes("target-size") ? faults : [...faults, "the size of targets was not looked at"];
}

/** Notes a page that is wider than the screen. */
export async function checkWidth(page, name, seen) {
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  if (content > screen) seen.wide.push(`${name}, ${screen}: ${content}`);
}

/** Moves the focus to an element by the keyboard alone, forwards or backwards. */
export async function tabTo(page, target, seen, key = "Tab") {
  const element = await target.elementHandle();
  for (let steps = 0; steps < 300; steps += 1) {
    if (await page.evaluate((element) => document.activeElement === element, element)) return;
    await page.keyboard.press(key);
  }
  seen.unreached.push(await element.evaluate((element) => element.outerHTML));
  await target.focus();
}
