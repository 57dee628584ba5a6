// Signs in to the console at an OpenID provider of others: a person who may, and one who may not.
//
// The arguments are the browser, the gateway's address, the port of the provider, and the client's id and secret. The program prints
// what it saw as JSON.

import { createServer } from "node:http";
import { Provider } from "oidc-provider";
import { chromium } from "playwright-core";
import { check, nothingSeen, OPTIONS, person } from "./console_person.mjs";

const [executablePath, address, port, clientId, clientSecret] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const seen = nothingSeen();

const provider = new Provider(issuer, {
  clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [`${address}/console/oidc/callback`] }],
  claims: { openid: ["sub"], groups: ["groups"], email: ["email"] },
  scopes: ["openid", "groups", "email"],
  conformIdTokenClaims: false,
  cookies: { keys: ["keys of a test"] },
  features: { devInteractions: { enabled: true } },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.com`, groups: id === "ann" ? ["users", "operators"] : ["users"] }),
  }),
});
const server = createServer(provider.callback());
await new Promise((done) => server.listen(Number(port), "127.0.0.1", done));

const browser = await chromium.launch({ executablePath, args: OPTIONS });

/** Signs in at the provider. */
async function signInAs(name) {
  const page = await person(browser, address, seen, [issuer]);
  await page.goto(`${address}/console`);
  await page.getByLabel("API key").waitFor();
  await check(page, `ways for ${name}`, seen);
  await page.getByRole("link", { name: "Sign in at 127.0.0.1" }).click();
  await page.waitForURL(`${issuer}/**`);
  await page.locator("[name=login]").fill(name);
  await page.locator("[name=password]").fill("any");
  await page.locator("[type=submit]").click();
  // The next page of the provider has a button of the same kind.
  await page.locator("[name=login]").waitFor({ state: "detached" });
  await page.locator("[type=submit]").click();
  await page.waitForURL(`${address}/**`);
  return page;
}

const ann = await signInAs("ann");
await ann.locator("h1", { hasText: "Calls" }).waitFor();
seen.person = await ann.locator(".session").innerText();
await ann.goto(`${address}/console#/audit`);
await ann.locator("td", { hasText: "console.signed_in" }).first().waitFor();
await check(ann, "audit", seen);
const bob = await signInAs("bob");
seen.pages.refused = await bob.innerText("main");
seen.cookies = (await bob.context().cookies(address)).map(({ name }) => name).filter((name) => name.startsWith("__Host-"));

await browser.close();
server.closeAllConnections();
server.close();
console.log(JSON.stringify(seen));
