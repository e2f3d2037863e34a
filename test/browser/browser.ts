import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";

import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { chromium, type Browser } from "playwright-core";

import { lambdas } from "../../infra/lambdas.ts";
import { startGateway, type GatewayOptions } from "../../infra/local/gateway.ts";
import { handlerOf } from "../support/request.ts";

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

/** An address that no other test comes from: strangers are told apart, and limited, by theirs. */
const newSource = (): string => `2001:db8:${randomBytes(2).toString("hex")}:${randomBytes(2).toString("hex")}::1`;

const cameFrom = (event: APIGatewayProxyEventV2, sourceIp: string): APIGatewayProxyEventV2 => {
  const { requestContext } = event;
  return { ...event, requestContext: { ...requestContext, http: { ...requestContext.http, sourceIp } } };
};

export type Product = { browser: Browser; base: string; close: () => Promise<void> };

/** A browser, and the product behind a gateway. */
export async function openProduct(localPaths: GatewayOptions["localPaths"] = []): Promise<Product> {
  const source = newSource();
  const functions = await Promise.all(
    lambdas.map(async (spec) => {
      const handler = await handlerOf(spec);
      return { ...spec, handler: (event: APIGatewayProxyEventV2) => handler(cameFrom(event, source)) };
    }),
  );
  const gateway = await startGateway({ functions, localPaths, port: 0 });
  const browser = await chromium.launch({ executablePath, args });
  return {
    browser,
    base: `http://127.0.0.1:${gateway.port}`,
    close: async () => {
      await browser.close();
      await gateway.stop();
    },
  };
}
