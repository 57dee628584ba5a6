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
 * Runs in the browser. The outline has a line for each visible text, and one for each kind of element in another one. It must be the same in
 * each run and on each machine. So a word with a digit is `#`, since it can be a number, a time, an id or an address. Lines are sorted and
 * unique, since the entries of a list can have another order or number. Texts of others are left out, and so are times, charts, drawings,
 * choices, messages for screen readers, and editors, which draw no more lines than fit on the screen.
 */
function outline(part) {
  const lines = new Set();
  const masked = (text) => text.replace(/\S*\d\S*/g, "#").replace(/\s+/g, " ").trim();
  const isVisible = (element) => getComputedStyle(element).display === "contents" || element.checkVisibility({ visibilityProperty: true });
  const add = (element) => {
    for (const node of element.childNodes) {
      if (node.nodeType === Node.TEXT_NODE && masked(node.data)) lines.add(`${element.localName}: ${masked(node.data)}`);
      if (node.nodeType !== Node.ELEMENT_NODE || !isVisible(node)) continue;
      lines.add(`${element.localName} > ${node.localName}`);
      if (!node.matches("bdi, time, figure, svg, select, [role=status], [contenteditable]")) add(node);
    }
  };
  add(part);
  return [...lines].sort().join("\n");
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
