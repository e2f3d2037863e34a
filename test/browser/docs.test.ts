import { existsSync } from "node:fs";

import { chromium } from "playwright-core";
import { expect, test } from "vitest";

import { lambdas } from "../../infra/lambdas.ts";
import { startGateway } from "../../infra/local/gateway.ts";
import { handlerOf } from "../support/request.ts";
import { newAccount } from "../support/world.ts";

const executablePath = "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present) process.stdout.write(`skips: no ${executablePath}; Debian's package chromium has it\n`);

// The viewer escapes the dot in the id itself.
const operation = '[id="operations-accounts-accounts\\\\.list"]';

const args = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

test.skipIf(!present)(
  "the reference page tries a call with one's token, and asks nobody else for anything",
  { timeout: 60_000 },
  async () => {
    const account = await newAccount({ name: "Shown in the page" });
    const functions = await Promise.all(lambdas.map(async (spec) => ({ ...spec, handler: await handlerOf(spec) })));
    const gateway = await startGateway({ functions, port: 0 });
    const browser = await chromium.launch({ executablePath, args });
    try {
      const base = `http://127.0.0.1:${gateway.port}`;
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
    } finally {
      await browser.close();
      await gateway.stop();
    }
  },
);
