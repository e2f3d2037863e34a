import { existsSync } from "node:fs";

import { chromium, type Browser } from "playwright-core";

import type { GatewayOptions } from "../../infra/local/server/gateway.ts";
import { serveProduct } from "../support/serve-product.ts";

const executablePath = "/usr/bin/chromium";

/** Whether there is a browser to test with. */
export const hasBrowser = existsSync(executablePath);
if (!hasBrowser) process.stdout.write(`skips: no ${executablePath}; Debian's package chromium has it\n`);

const args = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export type Product = { browser: Browser; base: string; close: () => Promise<void> };

/** A browser, and the product behind a gateway. */
export async function openProduct(localPaths: GatewayOptions["localPaths"] = []): Promise<Product> {
  const { base, close } = await serveProduct(localPaths);
  const browser = await chromium.launch({ executablePath, args });
  return {
    browser,
    base,
    close: async () => {
      await browser.close();
      await close();
    },
  };
}
