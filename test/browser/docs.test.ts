import { expect, onTestFinished, test } from "vitest";

import { newAccount } from "../support/world.ts";
import { hasBrowser, openProduct } from "./browser.ts";

// The viewer escapes the dot in the id itself.
const operation = '[id="operations-accounts-accounts\\\\.list"]';

test.skipIf(!hasBrowser)(
  "the reference page tries a call with one's token, and asks nobody else for anything",
  { timeout: 60_000 },
  async () => {
    const account = await newAccount({ name: "Shown in the page" });
    const { browser, base, close } = await openProduct();
    onTestFinished(close);
    const page = await browser.newPage();
    const outside: string[] = [];
    page.on("request", (asked) => {
      if (!asked.url().startsWith(base) && !asked.url().startsWith("data:")) outside.push(asked.url());
    });
    const complaints: string[] = [];
    page.on("console", (line) => line.type() === "error" && complaints.push(line.text()));
    await page.goto(`${base}/docs`);
    await page.click("button.authorize");
    await page.fill(".auth-container input", account.owner.token);
    await page.click(".auth-btn-wrapper button.authorize");
    await page.click(".auth-btn-wrapper button.btn-done");
    await page.click(`${operation} .opblock-summary`);
    await page.click(`${operation} button.execute`);
    const answer = page.locator(`${operation} .live-responses-table .response`);
    await answer.first().waitFor();
    expect(await answer.first().innerText()).toContain("Shown in the page");
    await page.goto(`${base}/docs/errors#not_found`);
    expect(await page.locator("tr:target").innerText()).toContain("404");
    expect(outside).toEqual([]);
    expect(complaints).toEqual([]);
  },
);
