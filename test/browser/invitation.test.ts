import { mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import { signInPaths } from "../../infra/local/pages/sign-in.ts";
import { asOwner } from "../support/auth.ts";
import { stranger } from "../support/forwarding.ts";
import { accepting, invited } from "../support/invitations.ts";
import { issuer, newAccount, newUser, type Account } from "../support/world.ts";
import { hasBrowser, openProduct, type Product } from "./browser.ts";

let product: Product;

const viewing = { roles: [{ role_key: "viewer" }] };
const pictures = process.env["PICTURES"];

/** Saves a picture of the page if the environment variable `PICTURES` has a folder. */
async function picture(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

async function newPage(options: { width?: number; colorScheme?: "light" | "dark" } = {}) {
  const { base, openPage } = product;
  const page = await openPage(options);
  const asked: string[] = [];
  page.on("request", (one) => asked.push(`${one.method()} ${one.url().replace(base, "")}`));
  const complaints: string[] = [];
  page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  return { page, base, asked, complaints };
}

const members = async (account: Account): Promise<string[]> =>
  (await asOwner(account, "GET", "members")).items.map(({ email }: { email: string }) => email);

/** Signs in at the embedded issuer with an e-mail address. */
async function signInAs(page: Page, email: string): Promise<void> {
  await page.getByRole("heading", { name: "Who are you?" }).waitFor();
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Given name").fill("Ada");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

const heading = (page: Page, name: string) => page.getByRole("heading", { name }).waitFor();

describe.skipIf(!hasBrowser)("the page of an invitation", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    product = await openProduct(signInPaths(issuer, () => undefined));
    // Before the first request, because the issuers are read once.
    process.env["ISSUERS"] = JSON.stringify([issuer.issuerConfig(product.base)]);
    return product.close;
  }, 60_000);

  test("shows the inviter and the offered access, gives the access after the sign-in, and puts no secret into an address", async () => {
    const account = await newAccount({ name: "Acme Mail" });
    const email = stranger("ada");
    const { token } = await invited(account, { email, ...viewing, message: "Welcome to the team!" });
    const { page, base, asked, complaints } = await newPage();
    const response = await page.goto(`${base}/invitation#${token}`);
    expect(response?.headers()).toMatchObject({ "referrer-policy": "no-referrer", "cache-control": "no-store" });
    expect(response?.headers()["content-security-policy"]).toContain(`connect-src 'self' ${base};`);
    expect(response?.headers()["content-security-policy"]).not.toContain("unsafe");
    await heading(page, "Your invitation to Acme Mail");
    expect(await page.evaluate("document.activeElement.id"), "screen readers read the title").toBe("title");
    expect(page.url()).toBe(`${base}/invitation`);
    const text = await page.locator("main").innerText();
    for (const part of [
      account.owner.email ?? "",
      "Welcome to the team!",
      "The role viewer, on the whole account",
      "a***@",
    ])
      expect(text).toContain(part);
    expect(await members(account)).not.toContain(email);
    await picture(page, "p1-invitation");

    await page.getByRole("button", { name: "Sign in to accept" }).click();
    await picture(page, "p1-who-are-you");
    await signInAs(page, email);
    await heading(page, "Welcome to Acme Mail");
    expect(page.url()).toBe(`${base}/invitation`);
    expect(await page.getByRole("status").innerText()).toContain(account.id);
    expect(await page.evaluate("document.activeElement.id")).toBe("title");
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).toBe("{}");
    expect(await members(account)).toContain(email);
    await picture(page, "p1-accepted");
    expect(asked.filter((one) => one.includes(token))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("tells a person who signs in with another address, and lets them sign in as the invited person", async () => {
    const account = await newAccount({ name: "Acme Mail" });
    const email = stranger("ada");
    const { token } = await invited(account, { email, account_owner: true });
    const { page, base } = await newPage({ colorScheme: "dark" });
    await page.goto(`${base}/invitation#${token}`);
    await page.getByRole("button", { name: "Sign in to accept" }).click();
    await signInAs(page, "eve@example.com");
    await page.getByRole("button", { name: "Sign in as somebody else" }).waitFor();
    expect(await page.getByRole("status").innerText()).toContain("you are signed in as eve@example.com");
    expect(await members(account)).toHaveLength(1);
    await picture(page, "p1-other-address-dark");
    await page.getByRole("button", { name: "Sign in as somebody else" }).click();
    await signInAs(page, email);
    await heading(page, "Welcome to Acme Mail");
    expect(await members(account)).toContain(email);
  });

  test("can be used by keyboard alone, on a narrow screen", async () => {
    const account = await newAccount();
    const email = stranger("ada");
    const { token } = await invited(account, { email, ...viewing });
    const { page, base } = await newPage({ width: 320 });
    await page.goto(`${base}/invitation#${token}`);
    await page.getByRole("button").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
    await picture(page, "p1-narrow");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await heading(page, "Who are you?");
  });

  test("says why an ended invitation cannot be accepted, or what is wrong with a link", async () => {
    const account = await newAccount();
    const [revoked, used] = [stranger(), stranger()];
    const one = await invited(account, { email: revoked, ...viewing });
    await asOwner(account, "DELETE", `invitations/${one.id}`);
    const { page, base } = await newPage();
    await page.goto(`${base}/invitation#${one.token}`);
    await heading(page, "This invitation was revoked");
    const two = await invited(account, { email: used, ...viewing });
    await accepting(two, newUser({ email: used }));
    await page.goto("about:blank");
    await page.goto(`${base}/invitation#${two.token}`);
    await heading(page, "This invitation was accepted");
    expect(await page.getByRole("button").count()).toBe(0);
    await page.goto("about:blank");
    await page.goto(`${base}/invitation#nothing`);
    await heading(page, "This link is not valid");
    await page.goto("about:blank");
    await page.goto(`${base}/invitation`);
    await heading(page, "A part of the link is missing");
    expect(await members(account)).not.toContain(revoked);
  });

  test("refuses the code of a sign-in that did not begin in this browser", async () => {
    const { page, base, asked } = await newPage();
    await page.goto(`${base}/invitation?code=stolen&state=stolen`);
    await heading(page, "This sign-in did not begin here");
    expect(page.url()).toBe(`${base}/invitation`);
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual([]);
  });

  test("stays usable when the server does not answer, or a proxy answers in its place", async () => {
    const account = await newAccount({ name: "Acme Mail" });
    const email = stranger();
    const { token } = await invited(account, { email, ...viewing, message: "Hello,\n\n- one\n- two" });
    const { page, base } = await newPage();
    const refused = { status: 403, contentType: "text/html", body: "<h1>Request blocked</h1>" };
    await page.route("**/v1/public/invitations/preview", (route) => route.abort(), { times: 1 });
    await page.goto(`${base}/invitation#${token}`);
    await page.getByRole("status").filter({ hasText: "no answer" }).waitFor();
    await page.route("**/v1/public/invitations/*", (route) => route.fulfill(refused), { times: 1 });
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("status").filter({ hasText: "Something went wrong on our side." }).waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await heading(page, "Your invitation to Acme Mail");
    expect(await page.locator("#message").innerText()).toBe("Hello,\n\n- one\n- two");
    await page.route("**/v1/public/invitations/accept", (route) => route.fulfill(refused), { times: 1 });
    await page.getByRole("button", { name: "Sign in to accept" }).click();
    await signInAs(page, email);
    await page.getByRole("status").filter({ hasText: "Something went wrong on our side." }).waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await heading(page, "Welcome to Acme Mail");
  });
});
