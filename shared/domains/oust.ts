import { randomUUID } from "node:crypto";

import { change } from "../changes/kind.ts";
import { recordWrites } from "../changes/record.ts";
import { dueWrite } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { domainKey, domainKind, type Domain } from "./domain.ts";
import { domainById } from "./find.ts";
import type { StoredHolder } from "./holder.ts";
import { domainQueue } from "./queues.ts";
import { domainViews } from "./view.ts";

const reasons = {
  proved: "Another account proved that the name is theirs: it is delegated to their nameservers.",
  bought: "Another account is buying the name: nobody had registered it.",
} as const;

/** What the holder of a name has to be for it to be taken from them: that one, still unproved, or nobody any more. */
export const fromRival = (rival: StoredHolder): Write["if"] => ({ absentOr: { ...rival } });

/** The writes that take a name from a domain of another account, which goes with all it has. */
export async function ousting(
  table: Reader,
  { account_id, domain_id }: StoredHolder,
  why: keyof typeof reasons,
  now: Date,
): Promise<Write[]> {
  const domain = await domainById(table, account_id, domain_id);
  if (!domain?.is_open) return [];
  const at = now.toISOString();
  const status_reason = reasons[why];
  const after = { ...domain, status: "releasing" as const, status_reason, updated_at: at };
  const [seenBefore, seenAfter] = (await domainViews(table, account_id, [domain, after])) as [Domain, Domain];
  const told = change(domainKind, "taken_over", domain_id, { before: seenBefore, after: seenAfter });
  const author = {
    action: "system: domain",
    actor: { type: "system" as const, id: "domains" },
    requestId: randomUUID(),
  };
  return [
    {
      put: { ...domainKey(account_id, domain_id), ...after, is_open: false, due_at: at, version: domain.version + 1 },
      if: { id: domain_id, version: domain.version },
    },
    dueWrite(domainQueue, [account_id, domain_id], at),
    ...recordWrites(account_id, [told], author, now),
  ];
}
