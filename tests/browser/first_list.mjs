// Measures how soon the console shows the first row of a list in a browser, with nothing in its cache and with the console in it.
//
// The arguments are the browser, the gateway's address, a key of the scope `admin`, the number of rounds, and the screens. The program prints the
// milliseconds from the beginning of each navigation to the first row, as JSON: {"calls": {"cold": [412, …], "warm": […]}}.

import { chromium } from "playwright-core";
import { OPTIONS } from "./console_person.mjs";

const [executablePath, address, key, rounds, ...screens] = process.argv.slice(2);

/** Signs in from a page that has nothing of the console, so that the cache stays empty. */
async function signIn(context) {
  const page = await context.newPage();
  await page.goto(`${address}/healthz`);
  const status = await page.evaluate(async (key) => {
    const { status } = await fetch("/console/session", { method: "POST", headers: { authorization: `Bearer ${key}` } });
    return status;
  }, key);
  if (status !== 201) throw new Error(`signing in is ${status}`);
  await page.close();
}

/** Tells when the page first shows a row. It runs before the page's own programs. A question to the page would take time from them. */
function tellFirstRow() {
  const look = () => {
    if (!document.querySelector("main tbody tr")) return requestAnimationFrame(look);
    // The frame with the row is drawn after its callbacks, and the message comes after that.
    const drawn = new MessageChannel();
    drawn.port1.onmessage = () => window.tell(performance.now());
    return drawn.port2.postMessage(null);
  };
  requestAnimationFrame(look);
}

const browser = await chromium.launch({ executablePath, args: OPTIONS });
const times = Object.fromEntries(screens.map((screen) => [screen, { cold: [], warm: [] }]));
for (let round = 0; round < Number(rounds); round += 1) {
  for (const screen of screens) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await signIn(context);
    let tell;
    await context.exposeFunction("tell", (milliseconds) => tell(milliseconds));
    await context.addInitScript(tellFirstRow);
    for (const cache of ["cold", "warm"]) {
      const page = await context.newPage();
      const told = new Promise((resolve) => (tell = resolve));
      await page.goto(`${address}/console#/${screen}`);
      times[screen][cache].push(await told);
      // The other screens are loaded a moment later, and the next page must not wait for them.
      await page.waitForLoadState("networkidle");
      await page.close();
    }
    await context.close();
  }
}
await browser.close();
console.log(JSON.stringify(times));
