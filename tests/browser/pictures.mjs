// Pictures of pages. They are WebP, with which a screen has half the bytes of PNG.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The bytes above which a picture loses details. Readers load all pictures of a page at once. */
const MOST = 60_000;

/** Takes a picture of what a page shows, and returns the outline of a part of the page. */
export async function take(page, path, part = page.locator("body")) {
  const shown = await part.evaluate(outline);
  const png = (await page.screenshot({ animations: "disabled" })).toString("base64");
  // An empty page has no policy, and is not in the picture.
  const empty = await page.context().newPage();
  let picture;
  for (const quality of [1, 0.95, 0.9, 0.8, 0.7]) {
    picture = Buffer.from(await empty.evaluate(encode, { png, quality }), "base64");
    if (picture.length < MOST) break;
  }
  await empty.close();
  await page.bringToFront();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, picture);
  return shown;
}

/**
 * Runs in the browser. The outline has the texts of headings, labels, buttons and names of columns. It must be the same in each run and on each
 * machine, which values are not. A word with a digit is `#`, since it can be a number, a time, an id or an address.
 */
function outline(part) {
  const masked = (text) => text.replace(/\S*\d\S*/g, "#").replace(/\s+/g, " ").trim();
  const own = (element) => masked([...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join(" "));
  const named = [...part.querySelectorAll("h1, h2, h3, th, caption, legend, label, summary, dt, button, nav a")];
  const visible = named.filter((element) => element.checkVisibility({ visibilityProperty: true }));
  return [...new Set(visible.map((element) => `${element.localName}: ${own(element)}`))].sort().join("\n");
}

/** Runs in the browser. The quality 1 loses nothing. */
async function encode({ png, quality }) {
  const picture = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (one) => one.charCodeAt(0))]));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvas.getContext("2d").drawImage(picture, 0, 0);
  const blob = await canvas.convertToBlob({ type: "image/webp", quality });
  const bytes = Array.from(new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join(""));
}
