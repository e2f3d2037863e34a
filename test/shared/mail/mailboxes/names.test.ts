import { brotliCompressSync, brotliDecompressSync } from "node:zlib";

import fc from "fast-check";
import { expect, test } from "vitest";

import { ordinalOf } from "../../../../shared/core/ids.ts";
import { mailboxesOf } from "../../../../shared/mail/mailboxes/mailbox.ts";
import { blockKey, packNames, removeDeletedNames, unpack } from "../../../../shared/mail/mailboxes/names.ts";
import { isFound } from "../../../../shared/mail/mailboxes/search.ts";
import { rowKey } from "../../../../shared/table/ranked-list.ts";
import { newWorkspace } from "../../../support/auth.ts";
import { withStep } from "../../../support/between-calls.ts";
import { domainsRequest } from "../../../support/domains.ts";
import { added, at, home, send, stocked } from "../../../support/mailboxes.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { testTable, type Account } from "../../../support/world.ts";

const table = testTable();

type Modelled = {
  id: string;
  local_part: string;
  first_name: string;
  last_name: string;
  domain: string;
  aliases: string[];
  status: "active" | "paused";
};

const firsts = ["Ada", "Zoë", "Grace", "Alan"];
const lasts = ["Lovelace", "O’Neill", "Hopper"];

/** An account with `count` mailboxes in three domains of two workspaces. */
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
    model.push(
      ...people.map((person, index) => ({
        ...person,
        id: ids[index] ?? "",
        domain: names[domain] ?? "",
        aliases: [],
        status: "active" as const,
      })),
    );
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
  { weight: 2, arbitrary: fc.record({ restore: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ rename: fc.nat(), to: fc.constantFrom("Ada", "Renamed", "Zoë") }) },
  { weight: 2, arbitrary: fc.record({ alias: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ pause: fc.nat() }) },
  fc.record({ move: fc.nat(2), to: fc.nat(1) }),
  fc.constantFrom("pack" as const, "tidy" as const, "make old" as const),
  {
    weight: 4,
    arbitrary: fc.record({
      text: fc.constantFrom("renamed", "ZOË O", "m1", "-3@", ".com", "nobody", "hopper", "also"),
      status: fc.constantFrom(undefined, "active", "paused"),
      sort: fc.constantFrom(undefined, "created_at", "primary_email"),
      order: fc.constantFrom(undefined, "asc", "desc"),
      place: fc.constantFrom("account", "domain", "workspace"),
      which: fc.nat(1),
      page: fc.integer({ min: 1, max: 3 }),
      size: fc.constantFrom(2, 25, 100),
    }),
  },
);

test(
  "a search finds the same mailboxes as a read of every mailbox, with rows of any version",
  { timeout: 240_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 15, maxLength: 30, size: "max" }), async (commands) => {
        const { account, workspaces, names, model, add } = await scene(250);
        const gone: Modelled[] = [];
        const ordinalIn = ({ id }: Modelled): number => ordinalOf(id) ?? 0;
        /** The domains of each workspace, in the order in which they came into the workspace. */
        const orders = [[names[0], names[2]], [names[1]]];
        for (const step of commands) {
          if (step === "pack") await packNames(table, account.id);
          else if (step === "tidy") await removeDeletedNames(table, account.id);
          else if (step === "make old") await table.attempt({ delete: blockKey(account.id, 0) });
          else if ("add" in step) await add(step.domain, step.add);
          else if ("remove" in step) {
            const [one] = model.splice(step.remove % model.length, 1);
            if (!one) continue;
            expect((await send(account, "DELETE", at(one.id))).status).toBe(200);
            gone.push(one);
          } else if ("restore" in step) {
            const [one] = gone.splice(step.restore % Math.max(1, gone.length), 1);
            if (!one) continue;
            expect((await send(account, "POST", at(one.id, "/restore"))).status).toBe(200);
            model.push(one);
            model.sort((a, b) => ordinalIn(a) - ordinalIn(b));
          } else if ("rename" in step) {
            const one = model[step.rename % model.length];
            if (!one) continue;
            one.first_name = step.to;
            expect((await send(account, "PATCH", at(one.id), { first_name: step.to })).status).toBe(200);
          } else if ("alias" in step) {
            const one = model[step.alias % model.length];
            if (!one) continue;
            const alias = `also-${one.local_part}`;
            const isThere = one.aliases.length > 0;
            one.aliases = isThere ? [] : [alias];
            const { status } = isThere
              ? await send(account, "DELETE", at(one.id, `/aliases/${alias}`))
              : await send(account, "POST", at(one.id, "/aliases"), { alias });
            expect(status).toBe(isThere ? 200 : 201);
          } else if ("pause" in step) {
            const one = model[step.pause % model.length];
            if (!one) continue;
            one.status = one.status === "active" ? "paused" : "active";
            const body = { active: one.status === "active" };
            expect((await send(account, "PATCH", at(one.id, "/active"), body)).status).toBe(200);
          } else if ("move" in step) {
            const name = names[step.move];
            if (orders[step.to]?.includes(name)) continue;
            await domainsRequest(account, "POST", `/${name}/move`, { workspace_id: workspaces[step.to] });
            for (const [place, order] of orders.entries()) orders[place] = order.filter((other) => other !== name);
            orders[step.to]?.push(name);
          } else {
            const { text, status, sort, order, place, which, page, size } = step;
            const domains = orders[which] ?? [];
            const all = {
              account: model,
              domain: model.filter(({ domain }) => domain === names[which]),
              workspace: domains.flatMap((name) => model.filter(({ domain }) => domain === name)),
            }[place as "account"];
            const kept = all.filter(
              (one) => isFound(one, one.domain, text) && (status === undefined || one.status === status),
            );
            const keyOf = ({ local_part, domain }: Modelled): string => `${local_part}@${domain}`;
            if (sort === "created_at") kept.sort((a, b) => model.indexOf(a) - model.indexOf(b));
            if (sort === "primary_email") kept.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
            const found = (order === "desc" ? kept.toReversed() : kept).map(({ id }) => id);
            const where = {
              account: {},
              domain: { domain: names[which] },
              workspace: { workspace_id: workspaces[which] },
            };
            const query = {
              search: text,
              page: `${page}`,
              page_size: `${size}`,
              ...where[place as "account"],
              ...(status === undefined ? {} : { status }),
              ...(sort === undefined ? {} : { sort }),
              ...(order === undefined ? {} : { order }),
            };
            expect(await search(account, query)).toEqual({
              ids: found.slice((page - 1) * size, page * size),
              total: found.length,
            });
          }
        }
      }),
      { numRuns: 8 },
    );
  },
);

test.each([
  ["the migration", 256, ({ account }: Scene) => packNames(table, account.id), async (last: Scene) => last],
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

test("a mailbox that is restored while its name is removed is found", { timeout: 60_000 }, async () => {
  const { account, model } = await scene(64);
  const id = model[0]?.id ?? "";
  // The loop ends when a run makes fewer calls than `step`.
  for (let step = 0, calls = 1; calls >= step; step++) {
    await send(account, "DELETE", at(id));
    const comeBack = () => send(account, "POST", at(id, "/restore"));
    ({ calls } = await withStep(step, comeBack, () => removeDeletedNames(table, account.id)));
    const isBack = (await send(account, "GET", at(id))).status === 200;
    expect((await search(account, { search: "m0" })).ids.includes(id)).toBe(isBack);
    if (!isBack) await comeBack();
  }
});

test("an alias is found even in a block that an earlier version packed without aliases", async () => {
  const { account, names } = await scene(64);
  const mailbox = await added(account, names[0] ?? "", "last");
  const key = blockKey(account.id, 0);
  const [item] = await table.getMany([key]);
  const {
    aliases: _,
    statuses: __,
    ...old
  } = JSON.parse(brotliDecompressSync(item?.["packed"] as Uint8Array).toString());
  await table.attempt({ update: key, set: { packed: brotliCompressSync(JSON.stringify(old)) } });
  const [first] = (await search(account, { search: "m0" })).ids;
  await send(account, "POST", at(first, "/aliases"), { alias: "countess" });
  expect(await search(account, { search: "countess" })).toEqual({ ids: [first], total: 1 });
  expect((await search(account, { search: "last" })).ids).toEqual([mailbox.id]);
  await packNames(table, account.id);
  expect(await search(account, { search: "countess" })).toEqual({ ids: [first], total: 1 });
});

test("mailboxes that an earlier version changed after a roll-back are found by their new names", async () => {
  const { account, model } = await scene(330);
  // One mailbox in a full block, and one in the last block, which is not full.
  const changed = [model[3], model[260]].map((mailbox) => mailbox?.id ?? "");
  const list = mailboxesOf(account.id);
  for (const id of changed)
    await table.attempt({ update: rowKey(list, ordinalOf(id) ?? -1), set: { first_name: "Renamed" } });
  expect((await search(account, { search: "Renamed" })).ids).toEqual([]);
  const costOfPacking = async () => {
    const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
    await packNames(testTable(usage), account.id);
    return usage.writeUnits;
  };
  await costOfPacking();
  expect((await search(account, { search: "Renamed" })).ids.toSorted()).toEqual(changed.toSorted());
  expect(await costOfPacking()).toBe(0);
});

test(
  "a search of packed names leaves out deleted mailboxes, before and after their names are removed",
  { timeout: 60_000 },
  async () => {
    const { account, model } = await scene(600);
    const packed = async () => {
      const items = await table.getMany([0, 1, 2].map((block) => blockKey(account.id, block)));
      return items.map((item) => item && unpack(item)?.named.length);
    };
    // The names of the last 4 mailboxes are not packed yet.
    expect(await packed()).toEqual([256, 256, 84]);
    for (const { id } of model.slice(0, 5)) await send(account, "DELETE", at(id));
    expect(await packed()).toEqual([256, 256, 84]);
    expect((await search(account, { search: "m" })).total).toBe(595);
    await removeDeletedNames(table, account.id);
    expect(await packed()).toEqual([251, 256, 84]);
    expect((await search(account, { search: "m" })).total).toBe(595);
  },
);
