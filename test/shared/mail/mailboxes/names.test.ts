import fc from "fast-check";
import { expect, test } from "vitest";

import { blockKey, packNames, unpack } from "../../../../shared/mail/mailboxes/names.ts";
import { isFound } from "../../../../shared/mail/mailboxes/search.ts";
import { newWorkspace } from "../../../support/auth.ts";
import { withStep } from "../../../support/between-calls.ts";
import { domainsRequest } from "../../../support/domains.ts";
import { added, at, home, send, stocked } from "../../../support/mailboxes.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { testTable, type Account } from "../../../support/world.ts";

const table = testTable();

type Modelled = { id: string; local_part: string; first_name: string; last_name: string; domain: string };

const firsts = ["Ada", "Zoë", "Grace", "Alan"];
const lasts = ["Lovelace", "O’Neill", "Hopper"];

/** An account with mailboxes in three domains of two workspaces, just before a block of names is full. */
async function scene(count: number) {
  const account = await newRoomyAccount();
  const one = await home(account);
  const workspaces = [one.workspace_id, await newWorkspace(account, "Second")];
  const domains = [one, await home(account, { workspaceId: workspaces[1] ?? "" })];
  domains.push(await home(account, { workspaceId: workspaces[0] ?? "" }));
  const names = domains.map(({ name }) => name);
  const model: Modelled[] = [];
  let made = 0;
  const add = async (domain: number, some: number) => {
    const people = Array.from({ length: some }, () => {
      const place = made++;
      const [first_name = "", last_name = ""] = [firsts[place % 4], lasts[place % 3]];
      return { local_part: `m${place}-${place % 5}`, first_name, last_name };
    });
    const ids = await stocked(account, names[domain] ?? "", people);
    model.push(...people.map((person, index) => ({ ...person, id: ids[index] ?? "", domain: names[domain] ?? "" })));
  };
  for (let from = 0; from < count; from += 50) await add((from / 50) % 3, Math.min(50, count - from));
  return { account, workspaces, names, model, add };
}

type Scene = Awaited<ReturnType<typeof scene>>;

async function search(account: Account, query: Record<string, string>) {
  const { body, text, status } = await send(account, "GET", `mailboxes?${new URLSearchParams(query).toString()}`);
  if (status !== 200) throw new Error(text);
  return { ids: body.items.map(({ id }: { id: string }) => id), total: body.total };
}

const command = fc.oneof(
  { weight: 2, arbitrary: fc.record({ add: fc.integer({ min: 1, max: 23 }), domain: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ remove: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ rename: fc.nat(), to: fc.constantFrom("Ada", "Renamed", "Zoë") }) },
  fc.record({ move: fc.nat(2), to: fc.nat(1) }),
  fc.constantFrom("pack" as const, "make old" as const),
  {
    weight: 4,
    arbitrary: fc.record({
      text: fc.constantFrom("renamed", "ZOË O", "m1", "-3@", ".com", "nobody", "hopper"),
      place: fc.constantFrom("account", "domain", "workspace"),
      which: fc.nat(1),
      page: fc.integer({ min: 1, max: 3 }),
      size: fc.constantFrom(2, 25, 100),
    }),
  },
);

test("finds what reading every mailbox would, in rows of any version", { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 15, maxLength: 30, size: "max" }), async (commands) => {
      const { account, workspaces, names, model, add } = await scene(250);
      /** The domains of each workspace, by when they came into it. */
      const orders = [[names[0], names[2]], [names[1]]];
      for (const step of commands) {
        if (step === "pack") await packNames(table, account.id);
        else if (step === "make old") await table.attempt({ delete: blockKey(account.id, 0) });
        else if ("add" in step) await add(step.domain, step.add);
        else if ("remove" in step) {
          const [gone] = model.splice(step.remove % model.length, 1);
          expect((await send(account, "DELETE", at(gone?.id ?? ""))).status).toBe(200);
        } else if ("rename" in step) {
          const one = model[step.rename % model.length];
          if (!one) continue;
          one.first_name = step.to;
          expect((await send(account, "PATCH", at(one.id), { first_name: step.to })).status).toBe(200);
        } else if ("move" in step) {
          const name = names[step.move];
          if (orders[step.to]?.includes(name)) continue;
          await domainsRequest(account, "POST", `/${name}/move`, { workspace_id: workspaces[step.to] });
          for (const [place, order] of orders.entries()) orders[place] = order.filter((other) => other !== name);
          orders[step.to]?.push(name);
        } else {
          const { text, place, which, page, size } = step;
          const domains = orders[which] ?? [];
          const all = {
            account: model,
            domain: model.filter(({ domain }) => domain === names[which]),
            workspace: domains.flatMap((name) => model.filter(({ domain }) => domain === name)),
          }[place as "account"];
          const found = all.filter((one) => isFound(one, one.domain, text)).map(({ id }) => id);
          const where = {
            account: {},
            domain: { domain: names[which] },
            workspace: { workspace_id: workspaces[which] },
          };
          const query = { search: text, page: `${page}`, page_size: `${size}`, ...where[place as "account"] };
          expect(await search(account, query)).toEqual({
            ids: found.slice((page - 1) * size, page * size),
            total: found.length,
          });
        }
      }
    }),
    { numRuns: 8 },
  );
});

test.each([
  ["the day's run", 256, ({ account }: Scene) => packNames(table, account.id), async (last: Scene) => last],
  ["an addition", 63, ({ account, names }: Scene) => added(account, names[0] ?? "", "the-last"), () => scene(63)],
] as const)(
  "a name that changes while %s packs its block is found under the new name",
  { timeout: 120_000 },
  async (_, count, packs, next) => {
    let one = await scene(count);
    for (let step = 0, calls = 1; step < calls; step++) {
      if (step > 0) one = await next(one);
      const { account, model } = one;
      const first_name = `Renamed${step}`;
      await table.attempt({ delete: blockKey(account.id, 0) });
      const path = at(model[0]?.id ?? "");
      const rename = () => send(account, "PATCH", path, { first_name });
      ({ calls } = await withStep(step, rename, async () => packs(one)));
      const isRenamed = (await send(account, "GET", path)).body.first_name === first_name;
      expect((await search(account, { search: first_name })).total).toBe(isRenamed ? 1 : 0);
    }
  },
);

test("a search reads packed names, also after many mailboxes were deleted", { timeout: 60_000 }, async () => {
  const { account, model } = await scene(600);
  const packed = async () => {
    const items = await table.getMany([0, 1, 2].map((block) => blockKey(account.id, block)));
    return items.map((item) => item && unpack(item)?.named.length);
  };
  // The last of the 600 are in their rows only, until there are some more.
  expect(await packed()).toEqual([256, 256, 84]);
  for (const { id } of model.slice(0, 5)) await send(account, "DELETE", at(id));
  expect(await packed()).toEqual([256, 256, 84]);
  expect((await search(account, { search: "m" })).total).toBe(595);
  await packNames(table, account.id);
  expect(await packed()).toEqual([251, 256, 84]);
  expect((await search(account, { search: "m" })).total).toBe(595);
});
