// Pictures of pages. They are WebP, with which a screen has half the bytes of PNG.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The bytes above which a picture loses details. Readers load all pictures of a page at once. */
const MOST = 60_000;

/** Takes a picture of what a page shows. */
export async function take(page, path) {
  const png = (await page.screenshot()).toString("base64");
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
