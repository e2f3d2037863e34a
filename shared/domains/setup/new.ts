import { idWithOrdinal } from "../../core/ids.ts";
import { nameserversOf } from "../../core/platform.ts";
import { moveDue } from "../../table/due.ts";
import { appendRows, readHeads, type ListState } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { domainCountWrite } from "../../workspaces/workspace.ts";
import { type StoredDomain, domainQueue, transferQueue, domainsIn, domainsOf, domainNameKey } from "../domain.ts";
import { holderWrite } from "../holder.ts";
import { newZone } from "../zone.ts";
import { lookalikeWrite, warningsFor } from "./lookalikes.ts";

/** The members in which new domains differ. */
export type NewDomain = Pick<StoredDomain, "name" | "source" | "status" | "auto_renew" | "due_at"> &
  Partial<Pick<StoredDomain, "dns_mode" | "purchase" | "registration" | "transfer">>;

/** The account and the workspace of new domains, and the present time. */
type DomainOwner = { accountId: string; workspaceId: string; now: Date };

/**
 * Plans new domains in a workspace. `claim` makes the writes that give a name to its domain. Without `claim`, the
 * writes require that no account has the name. The transaction fails with:
 * - the error of `taken`, or of the writes of `claim`, if another account has one of the names;
 * - the error of `exists` if this account has one of the names;
 * - 422 if the workspace is gone.
 */
export async function planNewDomains(
  table: Reader,
  { accountId, workspaceId, now }: DomainOwner,
  given: readonly NewDomain[],
  refusals: {
    taken: (name: string) => () => Error;
    exists: (name: string) => () => Error;
    claim?: (domain: StoredDomain) => Write[];
  },
): Promise<{ domains: StoredDomain[]; writes: Write[] }> {
  const [all, inWorkspace] = (await readHeads(table, [domainsOf(accountId), domainsIn(accountId, workspaceId)])) as [
    ListState,
    ListState,
  ];
  const warnings = await Promise.all(given.map(({ name }) => warningsFor(table, accountId, name)));
  const domains = given.map((one, index) => ({
    ...blank(accountId, workspaceId, now),
    id: idWithOrdinal(all.next + index),
    workspace_ordinal: inWorkspace.next + index,
    warnings: warnings[index] ?? [],
    ...one,
  }));
  return {
    domains,
    writes: [
      ...appendRows(all, domains),
      ...appendRows(
        inWorkspace,
        domains.map(({ id }) => ({ domain_id: id })),
      ),
      domainCountWrite(accountId, workspaceId, domains.length),
      ...domains.flatMap((domain) => [
        ...nameWrites(domain, refusals),
        lookalikeWrite(accountId, domain.name),
        newZone(accountId, domain).write,
        ...moveDue(domainQueue, [accountId, domain.id], null, domain.due_at),
        ...moveDue(transferQueue, [accountId, domain.id], null, domain.transfer?.due_at ?? null),
      ]),
    ],
  };
}

/** The members of a new domain. `NewDomain` can replace some of them. */
const blank = (accountId: string, workspaceId: string, now: Date) =>
  ({
    account_id: accountId,
    workspace_id: workspaceId,
    status_reason: null,
    deletes_at: null,
    dns_mode: "hosted",
    broken_records: [],
    sending_ready: false,
    seen_right: [],
    handover: null,
    nameservers: nameserversOf(accountId),
    registration: null,
    redirect_url: null,
    dmarc_policy: "none",
    dmarc_report_email: null,
    spf_includes: [],
    mta_sts_mode: null,
    tls_report_email: null,
    dkim_rotation_months: null,
    dedicated_ip_id: null,
    tag_ids: [],
    verified_at: null,
    created_at: now.toISOString(),
    updated_at: now.toISOString(),
    mailbox_count: 0,
    mailbox_next: 0,
    record_count: 0,
    is_open: true,
    failures: 0,
    version: 1,
  }) satisfies Partial<StoredDomain>;

function nameWrites(domain: StoredDomain, { taken, exists, claim }: Parameters<typeof planNewDomains>[3]): Write[] {
  const { account_id, id, name } = domain;
  return [
    { put: { ...domainNameKey(account_id, name), domain_id: id }, if: "absent", orElse: exists(name) },
    ...(claim?.(domain) ?? [{ ...holderWrite(domain, "absent"), orElse: taken(name) }]),
  ];
}
