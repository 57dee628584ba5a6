// The looks in which a page is checked, and the program that checks it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Light and dark, wide and on a small screen. */
export const LOOKS = [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 1280 },
  { colorScheme: "light", width: 320 },
  { colorScheme: "dark", width: 320 },
];

/** The source of axe, which finds what people with a disability could not use. */
export const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
