import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import { jsonAnswer } from "../../infra/local/server/http-message.ts";
import { request } from "../support/request.ts";
import { newAccount, newMember, type Account, type User } from "../support/world.ts";
import { hasBrowser, openProduct, type Product } from "./browser.ts";

let product: Product;

/** The demo tokens that the local runtime gives to the page, with only the members that the page reads. */
const demo = { accounts: [] as object[], super_admin: { token: "super" } };

type Options = { width?: number; colorScheme?: "light" | "dark"; user?: Pick<User, "token"> };

/**
 * Opens the playground, and fills in the token of `user`. `asked` collects the requests of the page, and `complaints`
 * the errors in the browser.
 */
async function openPlayground({ width = 1_000, colorScheme = "light", user }: Options = {}) {
  const { base, openPage } = product;
  const page = await openPage({ width, height: 800, colorScheme });
  const [asked, complaints]: [string[], string[]] = [[], []];
  page.on("request", (one) => asked.push(`${one.method()} ${one.url().replace(base, "")}`));
  page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  const response = await page.goto(`${base}/docs/playground`);
  await program(page).waitFor();
  if (user) await page.getByLabel("Access token").fill(user.token);
  return { page, base, asked, complaints, response };
}

const program = (page: Page) => page.getByRole("textbox", { name: "Program" });
/** Replaces the program in the editor by a pasted program. */
async function write(page: Page, text: string): Promise<void> {
  await program(page).press("Control+a");
  await page.keyboard.press("Delete");
  await page.evaluate(`(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", ${JSON.stringify(text)});
    const content = editor.shadowRoot.querySelector(".cm-content");
    content.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true, bubbles: true }));
  })()`);
  expect(await textOf(page)).toBe(text);
}

const completions = (page: Page) => page.getByRole("listbox", { name: "Completions" }).getByRole("option");
const textOf = async (page: Page): Promise<string> =>
  (await program(page).locator(".cm-line").allTextContents()).join("\n");
const status = async (page: Page, text: string | RegExp): Promise<string> => {
  const line = page.getByRole("status").filter({ hasText: text });
  await line.waitFor();
  return line.innerText();
};
const names = async ({ id, owner }: Account): Promise<string[]> =>
  (await request("GET", `/v1/public/accounts/${id}/workspaces`, { token: owner.token })).body.items.map(
    ({ name }: { name: string }) => name,
  );

describe.skipIf(!hasBrowser)("the playground", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    product = await openProduct([{ method: "GET", path: "/_local/tokens", handle: () => jsonAnswer(200, demo) }]);
    return product.close;
  }, 60_000);

  test("runs a program, lists its calls, score and time, and has a policy that forbids inline scripts and styles", async () => {
    const account = await newAccount();
    const { page, base, asked, complaints, response } = await openPlayground({ user: account.owner });
    expect(response?.headers()["content-security-policy"]).not.toContain("unsafe");
    await write(page, `w = workspaces.add(account_id="${account.id}", name="Sales")\nme.get()`);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    expect(await status(page, "Completed")).toMatch(/^Completed · 2 calls · score 2 · \d+ ms$/);
    const calls = page.locator(".calls > li");
    expect(await calls.allInnerTexts()).toEqual([
      expect.stringMatching(/workspaces\.add\s*completed\s*Sales/),
      expect.stringMatching(/me\.get\s*completed/),
    ]);
    await calls.first().locator("summary").click();
    expect(await calls.first().locator("pre").innerText()).toContain('"name": "Sales"');
    expect(await page.locator("details", { hasText: "Last value" }).locator("pre").innerText()).toContain('"email"');
    expect(await names(account)).toEqual(["Sales"]);
    expect(asked.filter((one) => !/^(GET|POST) \//.test(one))).toEqual([]);
    const display = 'getComputedStyle(editor.shadowRoot.querySelector(".cm-scroller")).display';
    expect(await page.evaluate(display), "the editor has its styles").toBe("flex");
    expect([page.url(), complaints]).toEqual([`${base}/docs/playground`, []]);
  });

  test("takes a slash in a program as text, and runs nothing by keys outside the editor and the token", async () => {
    const { owner } = await newAccount();
    const { page, asked } = await openPlayground({ user: owner });
    await program(page).press("Control+a");
    await page.keyboard.type("7 // 2");
    expect(await textOf(page)).toBe("7 // 2");
    await page.getByLabel("Example").press("Control+Enter");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).press("Control+Enter");
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual([]);
  });

  test("replaces the program by an example only when a button is pressed", async () => {
    const { page } = await openPlayground();
    await page.getByLabel("Example").selectOption("Explain a function");
    expect(await textOf(page)).toBe("me.get()");
    await page.getByRole("button", { name: "Insert" }).click();
    expect(await textOf(page)).toBe('functions.explain(name="mailboxes.add")');
  });

  test("shows which part has the focus, and what can be pressed", async () => {
    const { page } = await openPlayground();
    const style = (of: string, member: string) => page.evaluate(`getComputedStyle(${of}).${member}`);
    await program(page).focus();
    expect(await style("editor", "outlineStyle")).toBe("solid");
    expect(await style('document.getElementById("new-session")', "textDecorationLine")).toBe("underline");
    await write(page, "");
    await program(page).pressSequentially("tags.lis");
    await completions(page).first().waitFor();
    expect(await style('editor.shadowRoot.querySelector("[aria-selected]")', "outlineStyle")).toBe("solid");
  });

  test("has no controls without JavaScript", async () => {
    const context = await product.browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${product.base}/docs/playground`);
    expect(await page.getByRole("main").getByRole("button").count()).toBe(0);
    await context.close();
  });

  test("sends no text that cannot be a token", async () => {
    const { page, asked } = await openPlayground({ user: { token: "sat_abc…" } });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("This is no access token.").waitFor();
    expect(asked.filter((one) => one.startsWith("POST"))).toEqual([]);
  });

  test("does not store the token", async () => {
    const { owner } = await newAccount();
    const { page } = await openPlayground({ user: owner });
    await program(page).press("Control+Enter");
    await status(page, "Completed");
    expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([0, 0, ""]);
    await page.reload();
    expect(await page.getByLabel("Access token").inputValue()).toBe("");
  });

  test("shows the calls of a dry run, and whether the caller has their capabilities, and changes nothing", async () => {
    const account = await newAccount();
    const member = await newMember(account, { capability: "workspace.view" });
    const { page } = await openPlayground({ user: member });
    await write(
      page,
      `workspaces.list(account_id="${account.id}")\nworkspaces.add(account_id="${account.id}", name="Sales")`,
    );
    await page.getByRole("button", { name: "Dry run" }).click();
    expect(await status(page, "Dry run")).toContain("nothing was changed · 2 calls in the program · score 2");
    const headings = await page.locator("thead th").allTextContents();
    expect(headings).toEqual(["Call", "Function", "Line", "Access", "Needs", "Capability held", "Times"]);
    const rows = await page.locator("tbody tr").allInnerTexts();
    expect(rows.map((row) => row.replaceAll(/\s+/g, " ").trim())).toEqual([
      "1 workspaces.list 1 read workspace.view yes 1",
      "2 workspaces.add 2 write workspace.manage no 1",
    ]);
    expect(await names(account)).toEqual([]);
  });

  test("marks the mistake in a program, says how to mend it and leads to its line, until the program is changed", async () => {
    const { owner } = await newAccount();
    const { page } = await openPlayground({ user: owner });
    await write(page, 'me.get()\nworkspaces.lst(account_id="…")');
    await page.getByRole("button", { name: "Run", exact: true }).click();
    expect(await status(page, "Failed")).toContain("Did you mean workspaces.list?");
    expect(await page.locator(".error").innerText()).toContain("Did you mean workspaces.list?");
    expect(await page.locator(".error pre").innerText()).toBe('workspaces.lst(account_id="…")\n^');
    expect(await page.locator(".cm-wrong").innerText()).toBe("workspaces.lst");
    expect(await program(page).getAttribute("aria-invalid")).toBe("true");
    await page.getByRole("button", { name: "Go to line 2" }).click();
    await page.keyboard.type("#");
    expect(await textOf(page)).toBe('me.get()\n#workspaces.lst(account_id="…")');
    expect(await page.locator(".cm-wrong").count()).toBe(0);
    expect(await program(page).getAttribute("aria-invalid")).toBe("false");
  });

  test("shows how many mistakes a program has before the further mistakes, if it does not show all of them", async () => {
    const { owner } = await newAccount();
    const { page } = await openPlayground({ user: owner });
    await write(page, Array.from({ length: 8 }, (_, index) => `workspaces.lst${index}()`).join("\n"));
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await status(page, "Failed");
    const text = await page.locator(".error").innerText();
    expect(text).toMatch(/lst0[^]*7 more mistakes, the first 4 of them:[^]*lst4/);
    expect(await page.locator(".error .mistake").count()).toBe(4);
  });

  test("completes functions and their parameters by keyboard, and can undo the completions", async () => {
    const { owner } = await newAccount();
    const { page } = await openPlayground({ user: owner });
    await write(page, "");
    await program(page).pressSequentially("workspaces.ad");
    const options = completions(page);
    await expect.poll(() => options.allInnerTexts()).toEqual(["workspaces.add Create a workspace"]);
    await page.keyboard.press("Tab");
    expect(await textOf(page)).toBe("workspaces.add()");
    await expect.poll(() => options.locator(".cm-completionLabel").allInnerTexts()).toEqual(["account_id", "name"]);
    await page.keyboard.press("ArrowDown");
    expect(await page.locator('[aria-selected="true"]').innerText()).toContain("name");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Sales");
    expect(await textOf(page)).toBe('workspaces.add(name="Sales")');
    await expect
      .poll(() => page.locator("#hint").innerText())
      .toBe("workspaces.add(account_id, name) · Create a workspace");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.type(", ");
    await expect.poll(() => options.locator(".cm-completionLabel").allInnerTexts()).toEqual(["account_id"]);
    await page.keyboard.press("Escape");
    expect(await options.count()).toBe(0);
    for (let times = 0; times < 30; times++) await page.keyboard.press("Control+z");
    expect(await textOf(page)).toBe("me.get()");
  });

  test("completes nothing in texts and comments, and ends a line with Enter even while it shows completions", async () => {
    const { page } = await openPlayground();
    await write(page, "");
    await program(page).pressSequentially('x = "work');
    expect(await completions(page).count()).toBe(0);
    await write(page, "");
    await program(page).pressSequentially("# work");
    expect(await completions(page).count()).toBe(0);
    await write(page, "");
    await program(page).pressSequentially("workspaces.list(");
    await expect.poll(() => completions(page).count()).toBeGreaterThan(1);
    await page.keyboard.press("Enter");
    expect(await textOf(page)).toBe("workspaces.list(\n  ");
  });

  test("lets the keyboard leave the editor with Escape and Tab, and names its completions to screen readers", async () => {
    const { page, complaints } = await openPlayground();
    await write(page, "");
    await program(page).pressSequentially("tags.lis");
    await page.getByRole("option", { name: /^tags\.list \w/, selected: true }).waitFor();
    const chosen = await completions(page).first().getAttribute("id");
    expect(await program(page).getAttribute("aria-activedescendant")).toBe(chosen);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.id")).toBe("run");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.type("t");
    expect(await textOf(page)).toBe("tags.list");
    expect(complaints).toEqual([]);
  });

  test("offers the members of the answer of a call", async () => {
    const { page } = await openPlayground();
    await write(page, "");
    await program(page).pressSequentially("accounts.list().items[0].na");
    await page.getByRole("option", { name: "name", exact: true, selected: true }).waitFor();
    await page.keyboard.press("Tab");
    expect(await textOf(page)).toBe("accounts.list().items[0].name");
  });

  test("can send the same request again if no answer came, and the calls are not made twice", async () => {
    const account = await newAccount();
    const { page } = await openPlayground({ user: account.owner });
    await page.route(
      "**/v1/public/a2a",
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await write(page, `workspaces.add(account_id="${account.id}", name="Sales")`);
    await program(page).press("Control+Enter");
    await status(page, "There was no answer");
    await page.getByRole("button", { name: "Send the same request again" }).click();
    expect(await page.evaluate("document.activeElement.id")).toBe("outcome-title");
    expect(await status(page, "Completed")).toContain("replayed answer");
    expect(await names(account)).toEqual(["Sales"]);
    await page.route("**/v1/public/a2a", (route) => route.fulfill({ json: {} }), { times: 1 });
    await program(page).press("Control+Enter");
    await status(page, "There was no answer");
  });

  test("explains that a token is missing, at its field, or that it is wrong", async () => {
    const { page } = await openPlayground({ width: 320 });
    const token = page.getByLabel("Access token");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("Paste an access token first").waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("token");
    expect(await token.getAttribute("aria-invalid")).toBe("true");
    expect(await token.getAttribute("aria-describedby")).toContain("token-fault");
    await page.keyboard.type("garbage");
    await page.keyboard.press("Control+Enter");
    await status(page, "401 unauthenticated: This access token is not valid here.");
    expect(await token.getAttribute("aria-invalid")).toBe("false");
  });

  test("offers the demo's tokens if the product runs on the user's own machine", async () => {
    const account = await newAccount();
    const holder = { token: account.owner.token };
    demo.accounts.push({ name: "Acme", owner: holder, viewer: { token: "v" }, service_account: { token: "s" } });
    const { page } = await openPlayground();
    await page.getByRole("button", { name: "Use a demo token" }).click();
    await page.getByLabel("Who").selectOption("Acme: viewer");
    expect(await page.getByLabel("Access token").inputValue()).toBe("v");
    await page.getByLabel("Who").selectOption("Acme: owner");
    await program(page).press("Control+Enter");
    await status(page, "Completed · 1 call");
  });

  test.each([
    [320, "light"],
    [320, "dark"],
    [1_200, "dark"],
  ] as const)("fits a screen of %d pixels with %s colours", async (width, colorScheme) => {
    const { owner } = await newAccount();
    const { page } = await openPlayground({ user: owner, width, colorScheme });
    await write(page, `functions.search(query="${"very ".repeat(30)}")\nme.gt(${"x".repeat(300)}=1)`);
    await program(page).press("Control+Enter");
    await status(page, "Failed");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    const overflow = 'const box = editor.shadowRoot.querySelector(".cm-scroller"); box.scrollWidth - box.clientWidth';
    expect(await page.evaluate(overflow)).toBe(0);
  });

  test("has a link on the first page of the documentation", async () => {
    const { base, openPage } = product;
    const page = await openPage();
    await page.goto(`${base}/docs`);
    await page.getByRole("link", { name: "Playground", exact: true }).click();
    expect(await page.locator("h1").innerText()).toBe("Playground");
  });
});
