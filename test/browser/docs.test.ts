import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { newAccount } from "../support/world.ts";
import { hasBrowser, openProduct, type Product } from "./browser.ts";

let product: Product;
beforeAll(async () => {
  if (hasBrowser) product = await openProduct();
});
afterAll(() => product?.close());

const searchBox = { name: "Search" } as const;

describe.skipIf(!hasBrowser)("the documentation site", { timeout: 60_000 }, () => {
  test("sends a request with the reader's token, and sends no request to another server", async () => {
    const account = await newAccount({ name: "Shown in the page" });
    const { openPage, base } = product;
    const page = await openPage({ width: 390 });
    const complaints: string[] = [];
    page.on("request", (asked) => asked.url().startsWith(base) || complaints.push(asked.url()));
    page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
    await page.goto(`${base}/docs/reference/accounts.get`);
    await page.getByLabel("Access token").fill(account.owner.token);
    await page.getByRole("textbox", { name: "account_id" }).fill(account.id);
    await page.getByRole("button", { name: "Send GET" }).click();
    await page.getByText(/^200 .* ms$/).waitFor();
    expect(await page.getByRole("region", { name: "Answer" }).innerText()).toContain("Shown in the page");

    // The page of the next operation knows the token and the account, and sends its example.
    await page.goto(`${base}/docs/reference/workspaces.add`);
    expect(await page.getByRole("textbox", { name: "account_id" }).inputValue()).toBe(account.id);
    await page.getByRole("button", { name: "Send POST" }).click();
    await page.getByText(/^201 .* ms$/).waitFor();
    await page.getByRole("button", { name: "Forget the token" }).click();
    expect(await page.getByLabel("Access token").inputValue()).toBe("");
    expect(await page.evaluate("sessionStorage.getItem('token')")).toBeNull();
    expect(complaints).toEqual([]);
  });

  test("shows the error in a body that is not JSON, and sends nothing", async () => {
    const { openPage, base } = product;
    const page = await openPage({ width: 320, height: 640 });
    await page.goto(`${base}/docs/reference/tags.add`);
    await page.getByLabel("Body").fill("{");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.getByLabel("Access token").fill("x");
    await page.getByRole("button", { name: "Send POST" }).click();
    const fault = page.getByText("The body is not JSON");
    const bottom = async () => (await fault.boundingBox().then((box) => box && box.y + box.height)) ?? 0;
    await expect.poll(bottom).toBeLessThan(641);
    expect(await bottom()).toBeGreaterThan(0);
    expect(asked).toEqual([]);
    const body = page.getByLabel("Body");
    const faultAttributes = async () => [
      await body.getAttribute("aria-invalid"),
      await body.getAttribute("aria-describedby"),
    ];
    expect(await faultAttributes()).toEqual(["true", "try-status"]);
    expect(await page.evaluate("document.activeElement.id")).toBe("try-body");
    await body.fill("{}");
    await page.getByRole("button", { name: "Send POST" }).click();
    await page.getByText(/^401 .* ms$/).waitFor();
    expect(await faultAttributes()).toEqual(["false", ""]);
  });

  test("sends a request once if its button is pressed twice, and no body if its field is empty", async () => {
    const { openPage, base } = product;
    const page = await openPage();
    await page.goto(`${base}/docs/reference/tags.add`);
    await page.getByLabel("Body").fill("");
    const bodies: (string | null)[] = [];
    await page.route("**/v1/public/**", async (route) => {
      bodies.push(route.request().postData());
      await route.fulfill({ json: { secret: "shown once" } });
    });
    await page.getByRole("button", { name: "Send POST" }).dblclick();
    await page.getByRole("region", { name: "Answer" }).filter({ hasText: "shown once" }).waitFor();
    expect(bodies).toEqual([null]);
  });

  test("works if the browser stores nothing, and with any fragment in the address", async () => {
    const { browser, base } = product;
    const context = await browser.newContext();
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    const refuse = "Object.defineProperty(window, NAME, { get() { throw new Error('refused'); } });";
    for (const name of ["localStorage", "sessionStorage"])
      await page.addInitScript(refuse.replace("NAME", JSON.stringify(name)));
    await page.goto(`${base}/docs/reference/tags.add#100%`);
    await page.getByRole("heading", { name: "Try it" }).waitFor();
    await page.getByRole("tab", { name: "Python" }).click();
    expect(await page.getByRole("tab", { selected: true }).innerText()).toBe("Python");
    expect(errors).toEqual([]);
    await context.close();
  });

  test("says so if the search does not load", async () => {
    const { openPage, base } = product;
    const page = await openPage();
    await page.route("**/docs/search.js", (route) => route.abort());
    await page.goto(`${base}/docs/overview`);
    await page.getByRole("button", { name: /^Search/ }).click();
    await page.getByRole("button", { name: "The search did not load." }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("remembers the language of the samples that the reader chose with the keyboard", async () => {
    const { openPage, base } = product;
    const page = await openPage({ width: 1_280 });
    await page.goto(`${base}/docs/reference/mailboxes.add`);
    await page.getByRole("tab", { name: "curl" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    expect(await page.getByRole("tab", { selected: true }).innerText()).toBe("Python");
    expect(await page.getByRole("tabpanel").innerText()).toContain("import requests");
    await page.goto(`${base}/docs/reference/domains.add`);
    expect(await page.getByRole("tab", { selected: true }).innerText()).toBe("Python");
    // The other tests share this page, and begin with the first language.
    await page.keyboard.press("Home");
    await page.evaluate("localStorage.clear()");
  });

  test("finds pages and operations by the keyboard, and closes the search by Escape or its button", async () => {
    const { openPage, base } = product;
    const page = await openPage();
    await page.goto(`${base}/docs/overview`);
    await page.keyboard.press("/");
    await page.keyboard.press("Control+k");
    const words = page.getByRole("combobox", searchBox);
    expect(await words.inputValue()).toBe("");
    expect(await words.getAttribute("aria-expanded")).toBe("false");
    await words.fill("reset a password");
    await page.getByRole("option").nth(1).waitFor();
    expect(await words.getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("ArrowDown");
    expect(await page.getByRole("option", { selected: true }).count()).toBe(1);
    await page.keyboard.press("Escape");
    expect(await page.getByRole("combobox", searchBox).isVisible()).toBe(false);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    expect(await words.isVisible()).toBe(false);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", searchBox).fill("mailboxes.add");
    await page.getByRole("option", { name: "Create a mailbox" }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${base}/docs/reference/mailboxes.add`);
  });

  test("leads an address of the former reference to the new page", async () => {
    const { openPage, base } = product;
    const page = await openPage();
    await page.goto(`${base}/docs#/mailboxes/mailboxes.add`);
    await page.waitForURL(`${base}/docs/reference/mailboxes.add`);
    await page.goto(`${base}/docs#/domains`);
    await page.waitForURL(`${base}/docs/reference/domains`);
    expect(await page.locator("h1").innerText()).toBe("Domains");
  });

  test("opens the details that an address names", async () => {
    const { openPage, base } = product;
    const page = await openPage();
    await page.goto(`${base}/docs/reference/domains.get#out-DomainRegistration`);
    expect(await page.locator("#out-DomainRegistration").getAttribute("open")).not.toBeNull();
  });

  test("shows text, pages and all samples without JavaScript", async () => {
    const { browser, base } = product;
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1_280, height: 900 } });
    const page = await context.newPage();
    await page.goto(`${base}/docs/reference/mailboxes.add`);
    for (const text of ["Create a mailbox", "local_part", "curl ", "import requests", "address_taken"]) {
      expect(await page.getByText(text).first().isVisible()).toBe(true);
    }
    expect(await page.getByRole("heading", { name: "Try it" }).isVisible()).toBe(false);
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Webhooks" }).click();
    expect(await page.locator("h1").innerText()).toBe("Webhooks");
    await context.close();
  });

  test("answers a browser at an unknown path with 404, and with a page that says so", async () => {
    const { openPage, base } = product;
    const page = await openPage();
    for (const path of ["/nope", "/docs/nope", "/docs/reference/nope"]) {
      const answer = await page.goto(base + path);
      expect(answer?.status()).toBe(404);
      expect(await page.locator("h1").innerText()).toBe("This page does not exist");
    }
  });
});
