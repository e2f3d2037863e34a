import fc from "fast-check";
import { expect, test } from "vitest";

import { domainKey } from "../../../../shared/domains/domain.ts";
import { domainByName } from "../../../../shared/domains/find.ts";
import { mailboxesIn } from "../../../../shared/mail/mailboxes/mailbox.ts";
import { at, home, send, stocked } from "../../../support/mailboxes.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

const table = testTable();

async function stored({ id }: Account, name: string) {
  const domain = await domainByName(table, id, name);
  if (!domain) throw new Error(`there is no ${name}`);
  return domain;
}

/**
 * Removes the head of the list of mailboxes from a domain, as an earlier version does when it writes the domain.
 */
async function loseHead(account: Account, name: string): Promise<void> {
  const { id } = await stored(account, name);
  await table.attempt({ update: domainKey(account.id, id), remove: ["mailbox_next", "mailbox_holes"] });
}

/** Stores a domain as the first edition did: with the head of its list in an item of its own. */
async function makeOld(account: Account, name: string): Promise<void> {
  const { id, mailbox_next: next, mailbox_count: live, mailbox_holes: holes } = await stored(account, name);
  if (next === undefined) return;
  await loseHead(account, name);
  const { partition, name: list } = mailboxesIn(account.id, id);
  const head = { PK: partition, SK: `LIST#${list}#HEAD`, next, live, version: 1, ...(holes ? { holes } : {}) };
  if (next > 0) await table.attempt({ put: head });
}

const command = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: fc.integer({ min: 1, max: 5 }), domain: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ restore: fc.nat() }) },
  fc.record({ old: fc.nat(1) }),
  fc.record({ lost: fc.nat(1) }),
  { weight: 2, arbitrary: fc.record({ page: fc.integer({ min: 1, max: 3 }), size: fc.integer({ min: 1, max: 4 }) }) },
);

test(
  "the lists of the mailboxes of a domain and of a workspace are right, with rows of any version",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 8, maxLength: 20 }), async (commands) => {
        const account = await newAccount();
        const first = await home(account);
        const second = await home(account, { workspaceId: first.workspace_id });
        const domains = [first, second];
        const nameOf = (place: number) => domains[place]?.name ?? "";
        // The ids of the mailboxes of each domain: in `model` without the deleted mailboxes, in `all` with them.
        const model: string[][] = [[], []];
        const all: string[][] = [[], []];
        const gone: string[] = [];
        let made = 0;
        const check = async (query: string, expected: readonly string[], page: number, size: number) => {
          const { body } = await send(account, "GET", `mailboxes?${query}&page=${page}&page_size=${size}`);
          const ids = body.items.map(({ id }: { id: string }) => id);
          expect({ ids, total: body.total }).toEqual({
            ids: expected.slice((page - 1) * size, page * size),
            total: expected.length,
          });
        };
        for (const step of commands) {
          if ("add" in step) {
            const locals = Array.from({ length: step.add }, () => `m${made++}`);
            const ids = await stocked(account, nameOf(step.domain), locals);
            for (const lists of [model, all]) lists[step.domain]?.push(...ids);
          } else if ("remove" in step) {
            const live = model.flat();
            if (live.length === 0) continue;
            const id = live[step.remove % live.length] ?? "";
            expect((await send(account, "DELETE", at(id))).status).toBe(200);
            for (const [place, ids] of model.entries()) model[place] = ids.filter((one) => one !== id);
            gone.push(id);
          } else if ("restore" in step) {
            const [id] = gone.splice(step.restore % Math.max(1, gone.length), 1);
            if (id === undefined) continue;
            expect((await send(account, "POST", at(id, "/restore"))).status).toBe(200);
            for (const [place, ids] of all.entries()) {
              const live = model[place] ?? [];
              model[place] = ids.filter((one) => live.includes(one) || one === id);
            }
          } else if ("old" in step) await makeOld(account, nameOf(step.old));
          else if ("lost" in step) await loseHead(account, nameOf(step.lost));
          else {
            await check(`domain=${nameOf(0)}`, model[0] ?? [], step.page, step.size);
            await check(`workspace_id=${first.workspace_id}`, model.flat(), step.page, step.size);
          }
        }
        await check(`workspace_id=${first.workspace_id}`, model.flat(), 1, 100);
        const [one] = await stocked(account, nameOf(0), ["last"]);
        await check(`domain=${nameOf(0)}`, [...(model[0] ?? []), one ?? ""], 1, 100);
      }),
      { numRuns: 25 },
    );
  },
);
