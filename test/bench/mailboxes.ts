import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { seedBig } from "../../infra/local/seed/seed-big.ts";
import { progressOn } from "../../infra/local/start/banner.ts";
import { domainByName } from "../../shared/domains/find.ts";
import { addMailbox } from "../../shared/mail/mailboxes/add.ts";
import { addMailboxes } from "../../shared/mail/mailboxes/bulk.ts";
import { exportMailboxes } from "../../shared/mail/mailboxes/export.ts";
import { listMailboxes, type MailboxFilter } from "../../shared/mail/mailboxes/list.ts";
import { secretsHere } from "../../shared/providers/secrets/factory.ts";
import { addWorkspace } from "../../shared/workspaces/workspace.ts";
import { person, stocked } from "../support/mailboxes.ts";
import { fillDomains } from "../support/many-domains.ts";
import type { Figure, Options, Result } from "./harness.ts";
import { newScene } from "./scene.ts";

const perDomain = 200;

/**
 * Measures an account with 100,000 mailboxes in 500 domains: pages, searches, one addition, 100 additions at once, and
 * the export.
 */
export async function run({ quick }: Options): Promise<Result> {
  const { account, accountId, table, recorded: context, measure } = await newScene();
  const size = { domains: quick ? 20 : 500, mailboxesEach: perDomain, workspaces: 1 };
  const total = size.domains * perDomain;
  const onProgress = progressOn(process.stderr, { of: total, unit: "mailboxes" });
  const { signal } = new AbortController();
  await seedBig({ table, accountId, ownerId: account.owner.id, size, onProgress, signal });
  const name = `customer-${String(size.domains >> 1).padStart(3, "0")}.com`;
  const home = await domainByName(table, accountId, name);
  if (!home) throw new Error("the domain is gone");
  const page = (number: number, filter: MailboxFilter = {}) =>
    measure(() => listMailboxes(accountId, { page: number, page_size: 25, order: "asc", ...filter }, context));
  const [first, last] = [await page(1), await page(total / 25)];
  const of = { domain: home.id };
  const [firstOf, lastOf] = [await page(1, of), await page(perDomain / 25, of)];
  const ofWorkspace = await page(1, { workspace_id: home.workspace_id });
  const found = await page(1, { search: `ada.allen.1@${name}` });
  const searchAll = await page(1, { search: "ada.allen.1" });
  const searches = await measureSearch();
  const work = { table, secrets: secretsHere() };
  await addMailbox(home, person("warm-up"), context, work);
  const added = await measure(() => addMailbox(home, person("one-more"), context, work));
  const items = Array.from({ length: 100 }, (_, index) => person(`bulk-${index}`));
  const bulk = await measure(() => addMailboxes(home, items, context, work));
  const { id: exportId } = await exportMailboxes(accountId, {}, context);
  const exported = runExport(accountId, exportId ?? "");
  return {
    figures: [
      { name: `page 1 of ${total} mailboxes`, value: first.readUnits, unit: "read units" },
      { name: "last page of mailboxes / page 1", value: last.readUnits / first.readUnits, unit: "×", bar: 1.2 },
      { name: "page 1 of a domain's mailboxes", value: firstOf.readUnits, unit: "read units" },
      {
        name: "last page of a domain's mailboxes / page 1",
        value: lastOf.readUnits / firstOf.readUnits,
        unit: "×",
        bar: 1.2,
      },
      {
        name: `page 1 of a workspace with ${size.domains} domains`,
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
      { name: "100 mailboxes at once: CPU", value: bulk.cpuMs / 1000, unit: "s", bar: 0.7 },
      { name: "export of all mailboxes", value: exported.ms, unit: "ms" },
      { name: "export of all mailboxes: the file", value: exported.bytes / 2 ** 20, unit: "MiB" },
      {
        name: "export of all mailboxes: memory of the process, at most",
        value: exported.kibibytes / 1024,
        unit: "MiB",
        bar: 256,
      },
    ],
  };
}

/** A person whose names have a random syllable, so that names differ as real names do. */
function randomPerson(place: number) {
  const pick = (from: string) => {
    const words = from.split(" ");
    return words[Math.floor(Math.random() * words.length)];
  };
  const syllable = () => Math.random().toString(36).slice(2, 5);
  const first_name = `${pick("Ada Alan Barbara Claude Dennis Donald Edsger Frances Grace Hedy")}${syllable()}`;
  const last_name = `${pick("Allen Bartik Church Clarke Diffie Hamilton Hopper Jones Knuth Lamarr")}${syllable()}`;
  return { local_part: `${first_name}.${last_name}${place}`.toLowerCase(), first_name, last_name };
}

/** The only person who has the rare word. */
const rarePerson = { local_part: "hedy.kiesler", first_name: "Hedy", last_name: "Kiesler" };

/** Measures the read units of text searches in a workspace with 20,000 mailboxes in 100 domains. */
async function measureSearch(): Promise<Figure[]> {
  const { account, accountId, table, recorded: context, measure } = await newScene();
  const { id: workspaceId } = await addWorkspace(accountId, "One", context);
  const names = Array.from({ length: 100 }, (_, index) => `searched-${index}.com`);
  await fillDomains(table, { accountId, workspaceId }, names);
  const people = () => Array.from({ length: perDomain }, (_, place) => randomPerson(place));
  for (const [index, name] of names.entries()) {
    await stocked(account, name, index === 50 ? [rarePerson, ...people().slice(1)] : people());
  }
  const figures: Figure[] = [];
  for (const [name, search] of Object.entries({ rare: "kiesler", common: "a", missing: "nobody-has-this" })) {
    const filter = { page: 1, page_size: 25, order: "asc", workspace_id: workspaceId, search } as const;
    const { readUnits, ms, value } = await measure(() => listMailboxes(accountId, filter, context));
    const isExpected = { rare: value.total === 1, common: value.total > 10_000, missing: value.total === 0 }[name];
    if (!isExpected) throw new Error(`The ${name} word has ${value.total} hits`);
    figures.push(
      { name: `a ${name} word in a workspace of 20,000`, value: readUnits, unit: "read units", bar: 100 },
      { name: `… its time (${name})`, value: ms, unit: "ms" },
    );
  }
  return figures;
}

/**
 * Runs an export in a process of its own, so that the measured memory is the memory of the export alone. The process
 * has the heap of a small Lambda.
 */
function runExport(accountId: string, exportId: string): { ms: number; bytes: number; kibibytes: number } {
  const args = ["--max-old-space-size=128", join(import.meta.dirname, "export-child.ts"), accountId, exportId];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}
