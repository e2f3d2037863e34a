import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { domainById } from "../../shared/domains/find.ts";
import { planNewDomains } from "../../shared/domains/setup/new.ts";
import { addMailbox } from "../../shared/mail/mailboxes/add.ts";
import { addMailboxes } from "../../shared/mail/mailboxes/bulk.ts";
import { exportMailboxes } from "../../shared/mail/mailboxes/export.ts";
import { listMailboxes, type MailboxFilter } from "../../shared/mail/mailboxes/list.ts";
import { mailboxHeads, planMailboxes } from "../../shared/mail/mailboxes/plan.ts";
import { secretsOf } from "../../shared/providers/secrets/factory.ts";
import type { Usage } from "../../shared/table/connection.ts";
import { addWorkspace } from "../../shared/workspaces/workspace.ts";
import { benchContext, meter, type BenchContext } from "./context.ts";
import { onOwnEngine } from "./engine.ts";
import type { Figure } from "./suite.ts";

const domains = 500;
const perDomain = 200;
const batch = 23;

const secrets = secretsOf({ SECRETS_KEY: Buffer.alloc(32, 7).toString("base64") });

/** What mailboxes cost in an account of 100,000 over 500 domains: pages, an addition, many at once, and their export. */
export const mailboxCost = (): Promise<Figure[]> => onOwnEngine(measure);

async function measure(): Promise<Figure[]> {
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const context = benchContext(usage);
  const { accountId, table } = context;
  const ids = await fill(context);
  const spent = meter(usage);
  const page = (number: number, filter: MailboxFilter = {}) =>
    spent(() => listMailboxes(accountId, { page: number, page_size: 25, ...filter }, context));
  const total = domains * perDomain;
  const [first, last] = [await page(1), await page(total / 25)];
  const [firstOf, lastOf] = [await page(1, { domain: ids.domain }), await page(perDomain / 25, { domain: ids.domain })];
  const ofWorkspace = await page(1, { workspace_id: ids.workspace });
  const found = await page(1, { search: "person-7@domain-250.com" });
  const home = await domainById(table, accountId, ids.domain);
  if (!home) throw new Error("the domain is gone");
  const person = { local_part: "one-more", first_name: "One", last_name: "More" };
  const work = { table, secrets };
  await addMailbox(home, { ...person, local_part: "warm-up" }, context, work);
  const added = await spent(() => addMailbox(home, person, context, work));
  const items = Array.from({ length: 100 }, (_, index) => ({ ...person, local_part: `bulk-${index}` }));
  const startedAt = performance.now();
  const bulk = await spent(() => addMailboxes(home, items, context, work));
  const bulkMs = performance.now() - startedAt;
  return [
    { name: `page 1 of ${total} mailboxes`, value: first.readUnits, unit: "read units" },
    { name: "last page of mailboxes / page 1", value: last.readUnits / first.readUnits, unit: "×", bar: 1.2 },
    { name: "page 1 of a domain's mailboxes", value: firstOf.readUnits, unit: "read units" },
    { name: "last page of a domain / its page 1", value: lastOf.readUnits / firstOf.readUnits, unit: "×", bar: 1.2 },
    { name: `page 1 of a workspace with ${domains} domains`, value: ofWorkspace.readUnits, unit: "read units" },
    { name: "a search for one address", value: found.readUnits, unit: "read units" },
    { name: "add a mailbox, with audit and event", value: added.writeUnits, unit: "write units", bar: 16 },
    { name: "100 mailboxes at once", value: bulkMs, unit: "ms", bar: 3_000 },
    { name: "… of which were created", value: bulk.value.created.length, unit: "mailboxes" },
    ...(await measureExport(context)),
  ];
}

async function fill(context: BenchContext): Promise<{ domain: string; workspace: string }> {
  const { accountId, table } = context;
  const { id: workspaceId } = await addWorkspace(accountId, "One", context);
  const unexpected = () => new Error("a name is taken");
  const given = Array.from({ length: domains }, (_, index) => ({
    name: `domain-${index}.com`,
    source: "connected" as const,
    status: "active" as const,
    auto_renew: false,
    due_at: null,
  }));
  const made: string[] = [];
  for (let start = 0; start < domains; start += 8) {
    const refusals = { taken: () => unexpected, exists: () => unexpected };
    const place = { accountId, workspaceId, now: new Date() };
    const some = given.slice(start, start + 8);
    made.push(
      ...(await table.commit(async () => {
        const planned = await planNewDomains(table, place, some, refusals);
        return { value: planned.domains.map(({ id }) => id), writes: planned.writes };
      })),
    );
  }
  const login = { hash: `$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`, tag: "0".repeat(16) };
  for (const id of made) await fillDomain(context, id, login);
  return { domain: made[domains >> 1] ?? "", workspace: workspaceId };
}

async function fillDomain(
  { accountId, table }: BenchContext,
  id: string,
  login: { hash: string; tag: string },
): Promise<void> {
  for (let start = 0; start < perDomain; start += batch) {
    await table.commit(async () => {
      const domain = await domainById(table, accountId, id);
      if (!domain) throw new Error("the domain is gone");
      const given = Array.from({ length: Math.min(batch, perDomain - start) }, (_, index) => ({
        person: { local_part: `person-${start + index}`, first_name: "Person", last_name: `Number ${start + index}` },
        login,
      }));
      const planned = planMailboxes(await mailboxHeads(table, domain), domain, given, {
        now: new Date(),
        madeBy: undefined,
      });
      return { value: undefined, writes: planned.writes };
    });
  }
}

type Exported = { ms: number; mebibytes: number; memory: number };

/** In a process of its own, whose memory is that of the export alone, with a heap as a small Lambda gives it. */
async function measureExport({ accountId, ...context }: BenchContext): Promise<Figure[]> {
  const { id } = await exportMailboxes(accountId, {}, context);
  const child = join(import.meta.dirname, "export-child.ts");
  const printed = execFileSync(process.execPath, ["--max-old-space-size=128", child, accountId, id ?? ""], {
    encoding: "utf8",
  });
  const { ms, mebibytes, memory } = JSON.parse(printed) as Exported;
  return [
    { name: "export of all of them", value: ms, unit: "ms" },
    { name: "… its file", value: mebibytes, unit: "MiB" },
    { name: "… memory of its process at most", value: memory, unit: "MiB", bar: 256 },
  ];
}
