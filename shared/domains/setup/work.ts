import { systemAuthor } from "../../changes/record.ts";
import { type Writer, writerOf } from "../../changes/recorder.ts";
import type { Log } from "../../core/log.ts";
import type { Resolver } from "../../dns/answer.ts";
import type { Dns } from "../../providers/dns/dns.ts";
import type { Registrar } from "../../providers/registrar/registrar.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import { moveDue } from "../../table/due.ts";
import type { Table } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { domainKey, domainQueue, transferQueue, type StoredDomain } from "../domain.ts";

/** The table and the outside services that domain workers use. */
export type DomainWork = {
  table: Table;
  now: () => Date;
  log: Log;
  dns: Dns;
  registrar: Registrar;
  secrets: Secrets;
  resolver: Resolver;
};

/** The writer for scheduled work. The author of its changes is the product itself. */
export const systemWriter = (work: Pick<DomainWork, "table" | "now">, accountId: string): Writer =>
  writerOf(work, accountId, systemAuthor("domain", "domains"));

/** The members of a domain that change. */
export type ChangedMembers = Partial<Omit<StoredDomain, "id" | "account_id" | "version">>;

/**
 * The writes that change a domain, and move the domain and its transfer to their new times in the queues. The
 * transaction fails if the domain has changed since it was read.
 */
export function domainUpdate(domain: StoredDomain, change: ChangedMembers): { after: StoredDomain; writes: Write[] } {
  const { id, account_id, version } = domain;
  const after = { ...domain, ...change, version: version + 1 };
  return {
    after,
    writes: [
      { put: { ...domainKey(account_id, id), ...after }, if: { id, version } },
      ...moveDue(domainQueue, [account_id, id], domain.due_at, after.due_at),
      ...moveDue(transferQueue, [account_id, id], domain.transfer?.due_at ?? null, after.transfer?.due_at ?? null),
    ],
  };
}
