import { clock } from "../../../shared/core/time.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { LocalPath } from "../server/respond.ts";
import { checkoutPaths } from "./checkout.ts";
import { filePaths } from "./files.ts";
import { outboxPaths } from "./outbox.ts";
import { registryPaths } from "./registry.ts";
import { reversePaths } from "./reverse-dns.ts";
import { cardPaths } from "./saved-cards.ts";

/**
 * The local pages of the embedded providers in use: payments, files, registry with reverse DNS, and outbox. `onChanged`
 * is called after a page has changed the delegation or the registration of a name, or the reverse DNS of an address.
 */
export function providerPaths(table: Table, onChanged: () => void): LocalPath[] {
  const {
    PAYMENTS_WEBHOOK_SECRET: webhookSecret,
    FILES_DIR: folder,
    FILES_KEY: key,
    REGISTRAR,
    MAIL_PROVIDER,
  } = process.env;
  return [
    ...(webhookSecret === undefined
      ? []
      : [...checkoutPaths({ table, webhookSecret, now: clock }), ...cardPaths({ table, webhookSecret, now: clock })]),
    ...(folder === undefined || key === undefined
      ? []
      : filePaths({ folder, key: Buffer.from(key, "base64"), now: clock })),
    ...(REGISTRAR === "embedded"
      ? [...registryPaths({ table, onDelegated: onChanged }), ...reversePaths({ table, onChanged })]
      : []),
    ...(MAIL_PROVIDER === "embedded" ? outboxPaths(table) : []),
  ];
}
