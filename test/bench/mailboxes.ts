import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { domainById } from "../../shared/domains/find.ts";
import { addMailbox } from "../../shared/mail/mailboxes/add.ts";
import { addMailboxes } from "../../shared/mail/mailboxes/bulk.ts";
import { exportMailboxes } from "../../shared/mail/mailboxes/export.ts";
import { listMailboxes, type MailboxFilter } from "../../shared/mail/mailboxes/list.ts";
import { mailboxHeads, planMailboxes } from "../../shared/mail/mailboxes/plan.ts";
import { secretsHere } from "../../shared/providers/secrets/factory.ts";
import type { Table } from "../../shared/table/table.ts";
import { addWorkspace } from "../../shared/workspaces/workspace.ts";
import type { Figure, Result } from "./harness.ts";
import { fillDomains, newScene } from "./scene.ts";

const perDomain = 200;
/** Mailboxes in one transaction. */
const batch = 23;
const names = Array.from({ length: 500 }, (_, index) => `domain-${index}.com`);
/** A hash of the form and length of a real one. */
const login = { hash: `$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`, tag: "0".repeat(16) };

/** Costs of mailboxes in an account of 100,000 over 500 domains: pages, one addition, 100 at once, and the export. */
export async function run(): Promise<Result> {
  const { accountId, table, recorded: context, measure } = await newScene();
  const { id: workspaceId } = await addWorkspace(accountId, "One", context);
  const ids = await fillDomains(table, { accountId, workspaceId, status: "active" }, names);
  for (const id of ids) await fillMailboxes(table, accountId, id);
  const domain = ids[ids.length >> 1] ?? "";
  const page = (number: number, filter: MailboxFilter = {}) =>
    measure(() => listMailboxes(accountId, { page: number, page_size: 25, ...filter }, context));
  const total = ids.length * perDomain;
  const [first, last] = [await page(1), await page(total / 25)];
  const [firstOf, lastOf] = [await page(1, { domain }), await page(perDomain / 25, { domain })];
  const ofWorkspace = await page(1, { workspace_id: workspaceId });
  const found = await page(1, { search: "person-7@domain-250.com" });
  const searchAll = await page(1, { search: "person-77" });
  const searches = await measureSearch();
  const home = await domainOf(table, accountId, domain);
  const person = { local_part: "one-more", first_name: "One", last_name: "More" };
  const work = { table, secrets: secretsHere() };
  await addMailbox(home, { ...person, local_part: "warm-up" }, context, work);
  const added = await measure(() => addMailbox(home, person, context, work));
  const items = Array.from({ length: 100 }, (_, index) => ({ ...person, local_part: `bulk-${index}` }));
  const bulk = await measure(() => addMailboxes(home, items, context, work));
  const { id: exportId } = await exportMailboxes(accountId, {}, context);
  const exported = runExport(accountId, exportId ?? "");
  return {
    figures: [
      { name: `page 1 of ${total} mailboxes`, value: first.readUnits, unit: "read units" },
      { name: "last page of mailboxes / page 1", value: last.readUnits / first.readUnits, unit: "×", bar: 1.2 },
      { name: "page 1 of a domain's mailboxes", value: firstOf.readUnits, unit: "read units" },
      { name: "last page of a domain / its page 1", value: lastOf.readUnits / firstOf.readUnits, unit: "×", bar: 1.2 },
      {
        name: `page 1 of a workspace with ${ids.length} domains`,
        value: ofWorkspace.readUnits,
        unit: "read units",
        bar: 120,
      },
      { name: "a search for one address", value: found.readUnits, unit: "read units" },
      { name: `a text search over ${total} mailboxes`, value: searchAll.readUnits, unit: "read units" },
      ...searches,
      { name: "add a mailbox, with audit and event", value: added.writeUnits, unit: "write units", bar: 14 },
      { name: "100 mailboxes at once", value: bulk.ms, unit: "ms", bar: 3_000 },
      { name: "… of which were created", value: bulk.value.created.length, unit: "mailboxes" },
      { name: "export of all of them", value: exported.ms, unit: "ms" },
      { name: "… its file", value: exported.bytes / 2 ** 20, unit: "MiB" },
      { name: "… memory of its process at most", value: exported.kibibytes / 1024, unit: "MiB", bar: 256 },
    ],
  };
}

const givenNames = "Ada Alan Barbara Claude Dennis Donald Edsger Frances Grace Hedy Jean Joan Karen Ken Linus".split(
  " ",
);
const familyNames = "Allen Bartik Church Clarke Diffie Hamilton Hopper Jones Knuth Lamarr Liskov Wilson".split(" ");

/** A person with a name of two random syllables and a number, so that names differ as those of people do. */
function personOf(place: number) {
  const pick = (from: readonly string[]) => from[Math.floor(Math.random() * from.length)] ?? "";
  const syllable = () => Math.random().toString(36).slice(2, 5);
  const [first_name, last_name] = [`${pick(givenNames)}${syllable()}`, `${pick(familyNames)}${syllable()}`];
  return { local_part: `${first_name}.${last_name}${place}`.toLowerCase(), first_name, last_name };
}

/** Read units of text searches in a workspace with 20,000 mailboxes in 100 domains. */
async function measureSearch(): Promise<Figure[]> {
  const { accountId, table, recorded: context, measure } = await newScene();
  const { id: workspace_id } = await addWorkspace(accountId, "One", context);
  const place = { accountId, workspaceId: workspace_id, status: "active" as const };
  const ids = await fillDomains(
    table,
    place,
    Array.from({ length: 100 }, (_, index) => `searched-${index}.com`),
  );
  for (const id of ids) await fillMailboxes(table, accountId, id, personOf);
  const figures: Figure[] = [];
  for (const [name, search] of Object.entries({ rare: "lamarr17", common: "a", missing: "nobody-has-this" })) {
    const { readUnits, ms } = await measure(() =>
      listMailboxes(accountId, { page: 1, page_size: 25, workspace_id, search }, context),
    );
    figures.push(
      { name: `a ${name} word in a workspace of 20,000`, value: readUnits, unit: "read units", bar: 100 },
      { name: `… its time (${name})`, value: ms, unit: "ms" },
    );
  }
  return figures;
}

async function domainOf(table: Table, accountId: string, id: string) {
  const domain = await domainById(table, accountId, id);
  if (!domain) throw new Error("the domain is gone");
  return domain;
}

const numbered = (place: number) => ({
  local_part: `person-${place}`,
  first_name: "Person",
  last_name: `Number ${place}`,
});

async function fillMailboxes(table: Table, accountId: string, domainId: string, person = numbered): Promise<void> {
  for (let start = 0; start < perDomain; start += batch) {
    const given = Array.from({ length: Math.min(batch, perDomain - start) }, (_, index) => ({
      person: person(start + index),
      login,
    }));
    await table.commit(async () => {
      const domain = await domainOf(table, accountId, domainId);
      const by = { now: new Date(), madeBy: undefined };
      const { writes } = planMailboxes(await mailboxHeads(table, domain, given.length), domain, given, by);
      return { value: undefined, writes };
    });
  }
}

/** Runs an export in a process of its own, with the heap of a small Lambda: its memory is that of the export alone. */
function runExport(accountId: string, exportId: string): { ms: number; bytes: number; kibibytes: number } {
  const args = ["--max-old-space-size=128", join(import.meta.dirname, "export-child.ts"), accountId, exportId];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}
