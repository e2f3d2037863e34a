import { afterEach, beforeAll, expect, test } from "vitest";

import { handler } from "../../../functions/workers/purge-mailboxes.ts";
import { setClockAhead } from "../../../shared/core/time.ts";
import { mailboxQueue } from "../../../shared/mail/mailboxes/deleted.ts";
import { readDue } from "../../../shared/table/due.ts";
import { leftOf, storedOf } from "../../support/entry-points.ts";
import { withFault } from "../../support/faults.ts";
import { ruleTo, stranger } from "../../support/forwarding.ts";
import { at, home, listed, send, stocked } from "../../support/mailboxes.ts";
import { useOwnTable } from "../../support/own-table.ts";
import { recorded } from "../../support/recorded.ts";
import { request } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { grant, newMember, testTable, type Account } from "../../support/world.ts";

beforeAll(useOwnTable);
afterEach(() => setClockAhead(0));

const weekMs = 7 * 86_400_000;

async function scene(grants = 0) {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const [ada = "", bob = ""] = await stocked(account, name, ["ada", "bob"]);
  const scope = { type: "mailbox" as const, id: ada };
  const members = await Promise.all(
    Array.from({ length: grants }, () => newMember(account, { role: "viewer", scope })),
  );
  await send(account, "POST", at(ada, "/app-passwords"), { name: "Phone", protocols: ["imap"] });
  await send(account, "DELETE", at(ada));
  return { account, name, ada, bob, members };
}

const isDue = async (id: string): Promise<boolean> => {
  const due = await readDue(testTable(), mailboxQueue, new Date(Date.now() + 2 * weekMs));
  return due.flat().some(({ subject }) => subject[1] === id);
};

const restore = (account: Account, id: string) => send(account, "POST", at(id, "/restore"));

test("a deleted mailbox is kept for seven days, and then nothing is left of it but history", async () => {
  const { account, ada, bob, members } = await scene(12);
  setClockAhead(weekMs - 60_000);
  await handler();
  expect((await send(account, "GET", "mailboxes/deleted")).body.total).toBe(1);
  setClockAhead(weekMs + 1_000);
  expect((await restore(account, ada)).status).toBe(404);
  await handler();
  expect((await send(account, "GET", "mailboxes/deleted")).body).toMatchObject({ items: [], total: 0 });
  expect(await leftOf(account, ada)).toEqual([]);
  expect(await isDue(ada)).toBe(false);
  expect(await listed(account)).toMatchObject({ items: [{ id: bob }], total: 1 });
  const { token } = members[11] ?? { token: "" };
  expect((await request("GET", `/v1/public/accounts/${account.id}`, { token })).status).toBe(404);
  const [purged] = await recorded(account, "mailbox.purged");
  expect(purged).toMatchObject({ resource_id: ada, actor_type: "system", before: { local_part: "ada" } });
  expect(await recorded(account, "auth.role_assignment.revoked")).toHaveLength(12);
});

test("a purge of a mailbox deletes its forwarding rules, and revokes the grants on these rules", async () => {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  const owner = await newMember(account, { capability: "forwarding.view", scope: { type: "mailbox", id: ada } });
  for (let index = 0; index < 5; index++) {
    const { id } = await ruleTo(account, stranger(), { mailbox: ada });
    await grant(account, owner, { capability: "forwarding.manage", scope: { type: "forwarding", id } });
  }
  await send(account, "DELETE", at(ada));
  expect((await send(account, "GET", "forwarding")).body.total).toBe(5);
  setClockAhead(weekMs + 1_000);
  await handler();
  expect((await send(account, "GET", "forwarding")).body.total).toBe(0);
  expect(await leftOf(account, ada)).toEqual([]);
  expect((await storedOf(account)).filter(({ SK }) => SK.startsWith("FORWARD"))).toEqual([]);
  expect(await recorded(account, "forwarding.deleted")).toHaveLength(5);
  expect(await recorded(account, "auth.grant.revoked")).toHaveLength(6);
});

test("a restored mailbox is not purged; if it is deleted again, it is purged seven days after that", async () => {
  const { account, ada } = await scene();
  expect((await restore(account, ada)).status).toBe(200);
  expect(await isDue(ada)).toBe(false);
  setClockAhead(weekMs / 2);
  await send(account, "DELETE", at(ada));
  setClockAhead(weekMs + 60_000);
  await handler();
  expect((await send(account, "GET", "mailboxes/deleted")).body).toMatchObject({ items: [{ id: ada }], total: 1 });
  setClockAhead(1.5 * weekMs + 60_000);
  await handler();
  expect(await leftOf(account, ada)).toEqual([]);
});

test("if a purge fails at any write, the next run finishes it", async () => {
  const { calls } = await purging(undefined, -1);
  const places = calls.flatMap((command, place) => (/^(?:Transact|Put|Update|Delete)/.test(command) ? [place] : []));
  expect(places.length).toBeGreaterThan(1);
  for (const fault of ["lost before", "answer lost"] as const) {
    for (const place of places) {
      const { account, ada } = await purging(fault, place);
      await handler();
      expect(await leftOf(account, ada), `${fault} at call ${place}`).toEqual([]);
      expect(await recorded(account, "mailbox.purged")).toHaveLength(1);
    }
  }
});

/** Purges a deleted mailbox with twelve grants, with a fault at the table call `place`. */
async function purging(fault: Parameters<typeof withFault>[0], place: number) {
  setClockAhead(0);
  const { account, ada } = await scene(12);
  setClockAhead(weekMs + 1_000);
  const { calls } = await withFault(fault, place, () => handler());
  return { account, ada, calls };
}
