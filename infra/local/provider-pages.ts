import { clock } from "../../shared/clock.ts";
import type { Table } from "../../shared/table/table.ts";
import { checkoutPaths } from "./checkout-page.ts";
import { filePaths } from "./files-page.ts";
import { registryPaths } from "./registry-page.ts";
import type { LocalPath } from "./respond.ts";

/** The pages of the embedded payments, files and registry, where those are what the product uses. */
export function providerPaths(table: Table, onDelegated: () => void): LocalPath[] {
  const { PAYMENTS_WEBHOOK_SECRET: webhookSecret, FILES_DIR: folder, FILES_KEY: key, REGISTRAR } = process.env;
  return [
    ...(webhookSecret === undefined ? [] : checkoutPaths({ table, webhookSecret, now: clock })),
    ...(folder === undefined || key === undefined
      ? []
      : filePaths({ folder, key: Buffer.from(key, "base64"), now: clock })),
    ...(REGISTRAR === "embedded" ? registryPaths({ table, onDelegated }) : []),
  ];
}
