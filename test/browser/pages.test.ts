import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { embeddedPublisher, eventsIn } from "../../infra/local/events/event-log.ts";
import { checkoutPaths } from "../../infra/local/pages/checkout.ts";
import { eventPaths } from "../../infra/local/pages/events.ts";
import { registryPaths } from "../../infra/local/pages/registry.ts";
import { clock } from "../../shared/core/time.ts";
import { testTable } from "../support/world.ts";
import { findingsOf, hasBrowser, openProduct, type Product } from "./browser.ts";

let product: Product | undefined;
const events = mkdtempSync(join(tmpdir(), "hosted-mail-events-"));
beforeAll(async () => {
  if (!hasBrowser) return;
  const table = testTable();
  product = await openProduct([
    ...eventPaths(events),
    ...registryPaths({ table, onDelegated: () => undefined }),
    ...checkoutPaths({ table, webhookSecret: "", now: clock }),
  ]);
});
afterAll(async () => {
  await product?.close();
  rmSync(events, { recursive: true });
});

/** A script for the browser. It finds the words that are cut in two, half on one line and half on the next. */
const cutWords = (selector: string, word: RegExp): string => `(() => {
  const cut = [];
  for (const element of document.querySelectorAll(${JSON.stringify(selector)})) {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      for (const { index, 0: found } of node.data.matchAll(${word})) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + found.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) cut.push(found);
      }
    }
  }
  return cut;
})()`;

/** Looks at words of 2 to 29 characters. A longer word may have to be cut on a phone. */
const inPages = cutWords("main", /(?<![\w.])[\w.]{2,29}(?![\w.])/g);

test.skipIf(!hasBrowser)(
  "no word of up to 29 characters is cut in two on a page with tables, from a phone to a wide screen",
  { timeout: 300_000 },
  async () => {
    const { openPage, base } = product as Product;
    const page = await openPage({ colorScheme: "dark" });
    const found: string[] = [];
    for (const name of ["", "/errors", "/code-mode", "/dedicated-ips", "/forwarding", "/promises"]) {
      await page.goto(`${base}/docs${name}`);
      for (const width of [390, 768, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const cut = await page.evaluate<string[]>(inPages);
        if (cut.length > 0) found.push(`${name} at ${width}: ${cut.slice(0, 5).join(" ")}`);
      }
    }
    expect(found).toEqual([]);
  },
);

test.skipIf(!hasBrowser)("a block of code is copied by its button", { timeout: 60_000 }, async () => {
  const { browser, base } = product as Product;
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  await page.goto(`${base}/docs/pagination`);
  await page.getByRole("button", { name: 'Copy: { "items": [], "page": 1' }).click();
  await page.getByRole("status").filter({ hasText: "Copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
    '{ "items": [], "page": 1, "page_size": 25, "total": 0 }',
  );
});

test.skipIf(!hasBrowser)(
  "choices are marked not only by colours, nothing covers the tabs of a phone, and everything is printed",
  { timeout: 60_000 },
  async () => {
    const { openPage, base } = product as Product;
    const page = await openPage({ width: 320 });
    const styles = (selector: string, member: string, pseudo = "") =>
      page.evaluate<string[]>(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) =>
        getComputedStyle(one, ${JSON.stringify(pseudo)}).${member})`);
    await page.goto(`${base}/docs/reference/mailboxes.add`);
    const tabs = await page.getByRole("tablist").boundingBox();
    const copy = await page.getByRole("tabpanel").getByRole("button").boundingBox();
    expect(copy?.y).toBeGreaterThanOrEqual((tabs?.y ?? 0) + (tabs?.height ?? 0));
    expect(await styles(".tab-list", "overflowX"), "every tab is in sight").toEqual(["visible"]);
    const lines = ["2px", "0px", "0px", "0px"];
    expect(await styles(".tab-list button", "borderBottomWidth"), "also in forced colours").toEqual(lines);
    const [soft] = await styles("#try-note", "color");
    expect(await styles("#try-token", "color", "::placeholder")).toEqual([soft]);

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("mailbox");
    await page.getByRole("option").first().waitFor();
    expect((await styles(".finder a", "outlineStyle")).slice(0, 2)).toEqual(["solid", "none"]);
    await page.keyboard.press("Escape");

    await page.emulateMedia({ media: "print" });
    expect(new Set(await styles("pre", "whiteSpace"))).toEqual(new Set(["pre-wrap"]));
    expect(new Set(await styles("aside pre", "maxHeight"))).toEqual(new Set(["none"]));
    expect(await page.locator("h4").allInnerTexts()).toEqual(["curl", "TypeScript", "Python", "Code mode"]);
    expect(await page.getByText("import requests").isVisible()).toBe(true);
    expect(await page.getByText("Idempotency-Key").first().isVisible(), "in closed details").toBe(true);
  },
);

/** A script for the browser. It finds the fields whose placeholder does not have the page's colour for notes. */
const otherPlaceholders = `(() => {
  document.body.style.color = "var(--soft)";
  const { color } = getComputedStyle(document.body);
  const fields = [...document.querySelectorAll("input[placeholder]")];
  return fields.filter((field) => getComputedStyle(field, "::placeholder").color !== color).map(({ name }) => name);
})()`;

test.skipIf(!hasBrowser)(
  "the playground, the page of a mail's link and local pages fit a phone, follow the reader's font size, and pass axe",
  { timeout: 60_000 },
  async () => {
    const event = { type: "auth.role_assignment.updated", timestamp: "2026-01-02T03:04:05.000Z", account_id: "a" };
    const by = { actor: { type: "user", id: "u" }, resource: { type: "thing", id: "t" }, data: {} };
    await embeddedPublisher(eventsIn(events))([{ id: "e", ...event, ...by }]);
    const { openPage, base } = product as Product;
    const page = await openPage({ width: 320 });
    const found: unknown[] = [];
    const paths = ["/docs/playground", "/verify", "/_local/events", "/_local/registry", "/_local/checkout/unknown"];
    for (const path of paths) {
      await page.goto(base + path);
      if (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) found.push(`${path} is too wide`);
      found.push(...(await findingsOf(page)).map((finding) => `${path} ${finding}`));
      const size = `document.documentElement.style.fontSize = "32px"; getComputedStyle(document.body).fontSize`;
      // The text of /verify is 1.0625rem.
      expect(await page.evaluate(size), path).toBe(path === "/verify" ? "34px" : "32px");
      found.push(...(await page.evaluate<string[]>(otherPlaceholders)));
    }
    expect(found).toEqual([]);
  },
);

test.skipIf(!hasBrowser)(
  "the keyboard stops only at blocks that scroll, and the table of contents on a wide screen is not collapsed",
  { timeout: 60_000 },
  async () => {
    const { openPage, base } = product as Product;
    const page = await openPage({ width: 1_280 });
    await page.goto(`${base}/docs/code-mode`);
    const blocks = "article :is(pre, .table, .picture)";
    const wrong = (): Promise<string[]> =>
      page.evaluate(`[...document.querySelectorAll("${blocks}")].filter((one) =>
        (one.scrollWidth > one.clientWidth) !== (one.tabIndex === 0 && one.role === "group" && one.ariaLabel !== null))
        .map((one) => one.textContent.slice(0, 40))`);
    await expect.poll(wrong).toEqual([]);
    await page.setViewportSize({ width: 320, height: 700 });
    await expect.poll(wrong).toEqual([]);
    await page.setViewportSize({ width: 1_280, height: 700 });
    expect(await page.locator(".contents summary").isVisible()).toBe(false);
    expect(await page.locator(".contents").getByText("On this page").locator("visible=true").count()).toBe(1);
  },
);

/** One page of each kind: text, tables, pictures, long and short operations, the playground, and an unknown page. */
const kinds = [
  "/docs",
  "/docs/overview",
  "/docs/domains",
  "/docs/errors",
  "/docs/changelog",
  "/docs/deploy",
  "/docs/scale",
  "/docs/playground",
  "/docs/reference/mailboxes",
  "/docs/reference/domains.purchase",
  "/docs/reference/me.get",
  "/docs/reference/code.mcp",
  "/nope",
];

test.skipIf(!hasBrowser)(
  "every kind of page fits a dark phone of 320 pixels and a light wide screen, and axe finds no problem",
  { timeout: 300_000 },
  async () => {
    const { openPage, base } = product as Product;
    const found: string[] = [];
    for (const [width, colorScheme] of [
      [320, "dark"],
      [1_280, "light"],
    ] as const) {
      const page = await openPage({ width, height: 900, colorScheme });
      page.on("console", (line) => {
        if (line.type() === "error" && !line.text().includes("404")) found.push(line.text());
      });
      page.on("request", (asked) => asked.url().startsWith(base) || found.push(asked.url()));
      for (const path of kinds) {
        await page.goto(base + path);
        if (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) found.push(`${path} ${width}`);
        await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
        found.push(...(await findingsOf(page)).map((finding) => `${path} ${width} ${finding}`));
      }
      await page.goto(`${base}/docs/overview`);
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search" }).fill("mailbox");
      await page.getByRole("option").first().waitFor();
      found.push(...(await findingsOf(page)).map((finding) => `search ${width} ${finding}`));
    }
    expect(found).toEqual([]);
  },
);

test.skipIf(!hasBrowser)(
  "a reader finds pages with the keyboard and in the list of pages",
  { timeout: 60_000 },
  async () => {
    const { openPage, base } = product as Product;
    const phone = await openPage({ width: 390, height: 900 });
    await phone.goto(`${base}/docs/errors#not_found`);
    expect(await phone.locator("h3:target").innerText()).toContain("not_found");
    await phone.goto(`${base}/docs/overview`);
    await phone.keyboard.press("Tab");
    expect(await phone.evaluate("document.activeElement.textContent")).toBe("Skip to the text");
    await phone.focus("summary");
    await phone.keyboard.press("Enter");
    await phone.getByRole("link", { name: "Webhooks", exact: true }).first().click();
    expect(await phone.locator("h1").innerText()).toContain("Webhooks");

    const desk = await openPage({ width: 1280, height: 900 });
    await desk.goto(`${base}/docs`);
    await desk.getByRole("link", { name: "Docs", exact: true }).click();
    await desk.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Pagination" }).click();
    expect(await desk.locator('.pages [aria-current="page"]').innerText()).toBe("Pagination");
  },
);
