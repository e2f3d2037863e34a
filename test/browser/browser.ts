import { existsSync } from "node:fs";

import axe from "axe-core";
import { chromium, type Browser, type Page } from "playwright-core";

import type { GatewayOptions } from "../../infra/local/server/gateway.ts";
import { serveProduct } from "../support/serve-product.ts";

const executablePath = "/usr/bin/chromium";

/** Whether there is a browser to test with. */
export const hasBrowser = existsSync(executablePath);
if (!hasBrowser)
  process.stdout.write(
    `The browser tests are skipped: there is no ${executablePath}. Debian's package chromium has it.\n`,
  );

const args = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

type PageOptions = { width?: number; height?: number; colorScheme?: "light" | "dark" };

export type Product = {
  browser: Browser;
  base: string;
  /**
   * Returns the page that all tests of a file share. It is blank, and has no listeners or routes of the test before. A
   * new page for each test would take three times as long, because each page starts a process of Chromium.
   */
  openPage: (options?: PageOptions) => Promise<Page>;
  close: () => Promise<void>;
};

/** A browser with one page, and the product behind a gateway. */
export async function openProduct(localPaths: GatewayOptions["localPaths"] = []): Promise<Product> {
  const { base, close } = await serveProduct(localPaths);
  const browser = await chromium.launch({ executablePath, args });
  const page = await browser.newPage();
  return {
    browser,
    base,
    openPage: async ({ width = 800, height = 700, colorScheme = "light" } = {}) => {
      for (const event of ["console", "pageerror", "request"]) await page.removeAllListeners(event, {});
      await Promise.all([page.unrouteAll(), page.context().unrouteAll()]);
      await page.goto("about:blank");
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme, media: null });
      return page;
    },
    close: async () => {
      await browser.close();
      await close();
    },
  };
}

/** The problems that axe finds in a page: the rule, and the first element that breaks the rule. */
export async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + " " + nodes[0].target.join(" ") + " " + nodes[0].html.slice(0, 120)))`);
}
