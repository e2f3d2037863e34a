import { noPermissions } from "../../../shared/auth/permissions.ts";
import { recorder } from "../../../shared/changes/recorder.ts";
import { createLog } from "../../../shared/core/log.ts";
import { nameserversOf } from "../../../shared/core/platform.ts";
import { clock } from "../../../shared/core/time.ts";
import { resolverHere } from "../../../shared/dns/services.ts";
import type { StoredDomain } from "../../../shared/domains/domain.ts";
import { domainByName } from "../../../shared/domains/find.ts";
import { syncNow } from "../../../shared/domains/records/sync-now.ts";
import { addDomain } from "../../../shared/domains/setup/add.ts";
import { verifyDomain } from "../../../shared/domains/setup/verify.ts";
import type { Context } from "../../../shared/http/route.ts";
import { newLogin } from "../../../shared/mail/mailboxes/password.ts";
import { mailboxHeads, planMailboxes } from "../../../shared/mail/mailboxes/plan.ts";
import { delegate } from "../../../shared/providers/registrar/embedded-names.ts";
import { secretsHere } from "../../../shared/providers/secrets/factory.ts";
import type { Table } from "../../../shared/table/table.ts";
import { addWorkspace, listWorkspaces } from "../../../shared/workspaces/workspace.ts";
import { seedRequestId } from "../events/publish.ts";

/** The size of the big account. */
export type Size = { domains: number; mailboxesEach: number; workspaces: number };

export const bigSize: Size = { domains: 500, mailboxesEach: 200, workspaces: 5 };

type BigSeed = {
  table: Table;
  accountId: string;
  ownerId: string;
  /** Called after each batch, and at the end, with the number of mailboxes in the domains that were handled so far. */
  onProgress: (mailboxes: number) => void;
  /** Stops the seed after the current batch. Finished batches stay. The next call continues after them. */
  signal: AbortSignal;
  size?: Size;
  /** The beginning of the domain names. A hyphen and a number follow. */
  label?: string;
};

/**
 * The number of mailboxes in one transaction. Each mailbox takes four writes, including its audit entry: 92 in
 * all. A transaction has at most 100 writes. The other eight are for the lists, the index for search and the domain.
 */
const mailboxesPerTransaction = 23;

const firstNames = ["Ada", "Alan", "Barbara", "Dennis", "Edsger", "Frances", "Grace", "John", "Katherine", "Radia"];
const lastNames = ["Allen", "Dijkstra", "Hopper", "Johnson", "Liskov", "Lovelace", "McCarthy", "Perlman", "Ritchie"];

const domainName = (label: string, index: number): string => `${label}-${String(index + 1).padStart(3, "0")}.com`;

function personOf(index: number) {
  const first_name = firstNames[index % firstNames.length] ?? "";
  const last_name = lastNames[index % lastNames.length] ?? "";
  return { local_part: `${first_name}.${last_name}.${index + 1}`.toLowerCase(), first_name, last_name };
}

/** The context of a request by the account's owner. */
function contextOf({ table, accountId, ownerId }: BigSeed): Context {
  const actor = { type: "user" as const, id: ownerId };
  const author = { action: "mailboxes.bulk", actor, requestId: seedRequestId };
  return {
    principal: { ...actor, email: "", groups: [] },
    permissions: { ...noPermissions, member: true, everything: true },
    requestId: author.requestId,
    table,
    commit: recorder({ table, accountId, author, now: clock }),
    answer: async (value) => value,
    chargeClass: async () => undefined,
    log: createLog("silent", {}),
    now: clock,
  };
}

async function ensureWorkspaces({ accountId, size = bigSize }: BigSeed, context: Context): Promise<string[]> {
  const page = await listWorkspaces(accountId, { page: 1, page_size: 100 }, context);
  const ids = page.items.map(({ id }) => id);
  for (let index = ids.length; index < size.workspaces; index++) {
    ids.push((await addWorkspace(accountId, `Region ${index + 1}`, context)).id);
  }
  return ids;
}

/** Creates a domain if it is missing, delegates it in the local DNS, and activates it. */
async function ensureDomain(
  seed: BigSeed,
  index: number,
  workspaceId: string,
  context: Context,
): Promise<StoredDomain> {
  const { table, accountId, label = "customer" } = seed;
  const name = domainName(label, index);
  const find = async (): Promise<StoredDomain> => {
    const domain = await domainByName(table, accountId, name);
    if (!domain) throw new Error(`${name} is gone`);
    return domain;
  };
  if (!(await domainByName(table, accountId, name))) {
    await addDomain(accountId, { name, workspaceId }, context, resolverHere());
  }
  const domain = await find();
  if (domain.status !== "pending_delegation") return domain;
  await delegate(table, name, nameserversOf(accountId));
  await verifyDomain(domain, context, { resolver: resolverHere(), secrets: secretsHere() });
  await syncNow(domain, context);
  return find();
}

/** Adds mailboxes to a domain until the domain has `mailboxesEach` mailboxes, or until `signal` is aborted. */
async function fillDomain(seed: BigSeed, domain: StoredDomain, context: Context, onMade: (count: number) => void) {
  const { table, accountId, signal, size = bigSize } = seed;
  let made = domain.mailbox_count;
  while (made < size.mailboxesEach && !signal.aborted) {
    const ids = { account_id: accountId, domain_id: domain.id };
    const people = Array.from({ length: Math.min(mailboxesPerTransaction, size.mailboxesEach - made) }, (_, index) =>
      personOf(made + index),
    );
    const services = { table, secrets: secretsHere() };
    const additions = await Promise.all(
      people.map(async (person) => ({
        person,
        login: await newLogin({ ...ids, local_part: person.local_part }, services),
      })),
    );
    await context.commit(async () => {
      const current = await domainByName(table, accountId, domain.name);
      if (!current) throw new Error(`${domain.name} is gone`);
      const planned = planMailboxes(await mailboxHeads(table, current, additions.length), current, additions, {
        now: clock(),
        madeBy: undefined,
      });
      return { value: undefined, writes: planned.writes, changes: planned.changes };
    });
    made += additions.length;
    onMade(additions.length);
  }
}

/**
 * Fills an account with domains and mailboxes. Uses the functions behind the API. So everything is listed, audited and
 * fully usable. Each domain has its own DKIM keys, and each mailbox its own password. Returns whether the account is
 * complete.
 */
export async function seedBig(seed: BigSeed): Promise<boolean> {
  const { onProgress, signal, size = bigSize } = seed;
  const context = contextOf(seed);
  const workspaces = await ensureWorkspaces(seed, context);
  let total = 0;
  for (let index = 0; index < size.domains && !signal.aborted; index++) {
    const workspaceId = workspaces[index % workspaces.length] ?? "";
    const domain = await ensureDomain(seed, index, workspaceId, context);
    total += domain.mailbox_count;
    await fillDomain(seed, domain, context, (count) => {
      total += count;
      onProgress(total);
    });
  }
  onProgress(total);
  return !signal.aborted;
}
