import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { removeForGood } from "../../support/domain-deletions.ts";
import { stored, write } from "../../support/domain-work.ts";
import { contact, domainsRequest, funded, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { withFault } from "../../support/faults.ts";
import { buyer, continued, pay, registered, wallet } from "../../support/purchases.ts";
import { request } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { useVat } from "../../support/vat.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

type Result = { domain_name: string; status: string; id: string | null; error_code: string | null };

/** A purchase request that can be sent several times with the same idempotency key. */
async function keyed(account: Account, domains: readonly string[], more: object = {}) {
  const body = { workspace_id: await newWorkspace(account, randomUUID()), domains, contact_info: contact, ...more };
  const headers = { "idempotency-key": randomUUID() };
  return () => domainsRequest(account, "POST", "/purchase", body, headers);
}

/**
 * Ends the leases of the idempotency keys, as if their processes had died. With `set`, sets these members instead, such
 * as the end of the keys.
 */
async function lapse({ owner }: Account, set: Record<string, number> = { lease_until: 0 }): Promise<void> {
  const records = await testTable().between(`PRINCIPAL#${owner.id}`, "IDEMPOTENCY#", "IDEMPOTENCY#~");
  for (const { PK, SK } of records) await write({ update: { PK, SK }, set });
}

/** The places of the writes among the calls of the table that `run` makes. `run` runs without a fault. */
async function writePlaces(run: () => Promise<unknown>): Promise<number[]> {
  const { calls } = await withFault(undefined, -1, run);
  return calls.flatMap((call, at) => (/Transact|Update|Put/.test(call) ? [at] : []));
}

/** The number of the account's stored items of these kinds. */
const countOf = async (account: Account, ...kinds: string[]): Promise<number> =>
  (await storedOf(account)).filter(({ SK }) => kinds.includes(SK.split("#")[0] ?? "")).length;

describe.each(["death", "answer lost", "lost before"] as const)("a purchase that is cut off (%s)", (fault) => {
  const someNames = () => [...Array.from({ length: 5 }, () => uniqueName()), `refused-${uniqueName()}`];

  test("finds the bought names in any state, and buys the rest, when it is repeated with its key", async () => {
    const account = await funded(await newRoomyAccount(), 1_000_000);
    const places = await writePlaces(await keyed(account, someNames()));
    expect(places.length).toBeGreaterThan(3);
    for (const at of places) {
      const before = (await wallet(account)).available;
      const names = someNames();
      const send = await keyed(account, names);
      const { value: first } = await withFault(fault, at, send);
      expect([200, 503], first.text).toContain(first.status);
      const bought: string[] = [];
      for (const name of names) if (await stored(account, name)) bought.push(name);
      // The second bought name stays in registration.
      const finished = bought.filter((_, index) => index !== 1);
      for (const name of finished) await registered(account, name);
      await lapse(account);
      const { body } = await send();
      const place = `${fault} at ${at}`;
      expect(body, place).toMatchObject({ successful_count: 6, failed_count: 0, estimated_total: "84.00" });
      for (const { domain_name, id } of body.results as Result[]) {
        expect((await stored(account, domain_name))?.id, place).toBe(id);
      }
      for (const name of names) await registered(account, name);
      expect((await wallet(account)).available, place).toBe(before - 5 * 1_400);
    }
  });

  test("before it returned its `payment_url` has only one checkout after it is repeated", async () => {
    const places = await writePlaces(await keyed(await newAccount(), [uniqueName(), uniqueName()]));
    expect(places.length).toBeGreaterThan(0);
    for (const at of places) {
      const account = await newAccount();
      const send = await keyed(account, [uniqueName(), uniqueName()]);
      await withFault(fault, at, send);
      await lapse(account);
      const { body } = await send();
      expect(body, `${fault} at ${at}`).toMatchObject({ successful_count: 0, failed_count: 0 });
      expect(await countOf(account, "TOPUP", "PURCHASE"), `${fault} at ${at}`).toBe(2);
      await pay(account, body.payment_url);
      await continued(account);
      expect(await wallet(account)).toEqual({ posted: 2_800, available: 0 });
    }
  });

  test("in a program finds the bought names when the program is sent again", async () => {
    const account = await funded(await newRoomyAccount(), 1_000_000);
    const workspace_id = await newWorkspace(account, "Here");
    const programFor = (name: string) => {
      const given = { account_id: account.id, workspace_id, domains: [name], contact_info: contact };
      const args = Object.entries(given).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      const body = { request_id: randomUUID(), session_id: "s", code: `domains.purchase(${args.join(", ")})` };
      return () => request("POST", "/v1/public/a2a", { token: account.owner.token, body });
    };
    const places = await writePlaces(programFor(uniqueName()));
    expect(places.length).toBeGreaterThan(3);
    for (const place of places) {
      const before = (await wallet(account)).available;
      const name = uniqueName();
      const run = programFor(name);
      await withFault(fault, place, run);
      if (await stored(account, name)) await registered(account, name);
      await lapse(account);
      const { body } = await run();
      expect(body.responses?.[0]?.result?.results, `${fault} at ${place}`).toMatchObject([
        { status: "pending_registration", id: (await stored(account, name))?.id },
      ]);
      expect((await wallet(account)).available).toBe(before - 1_400);
    }
  });
});

/** Returns the first purchase that died after it had bought its first name. Each try dies one call later. */
async function cutOff(account: Account, count: number, more: object = {}) {
  for (let at = 0; ; at++) {
    const names = Array.from({ length: count }, () => uniqueName());
    const send = await keyed(account, names, more);
    const { value } = await withFault("death", at, send);
    if (await stored(account, names[0] ?? "")) return { names, send, first: value };
  }
}

test("a repeated purchase keeps the agreed prices, and bought names stay bought", async () => {
  const account = await funded(await newRoomyAccount(), 1_000_000);
  const { names, send, first } = await cutOff(account, 6, { max_total: "84.00" });
  expect(first.status).toBe(503);
  const [last = ""] = names.slice(-1);
  expect(await stored(account, last)).toBeUndefined();
  await lapse(account);
  expect((await send()).body).toMatchObject({ successful_count: 6, estimated_total: "84.00" });
});

test("a repeated purchase tells the prices without VAT, even of a bought domain that was deleted since", async () => {
  useVat();
  const account = await funded(await newRoomyAccount(), 1_000_000);
  const { names, send } = await cutOff(account, 1);
  const [name = ""] = names;
  await registered(account, name);
  await removeForGood(account, name);
  await lapse(account);
  expect((await send()).body).toMatchObject({ successful_count: 1, estimated_total: "14.00" });
});

test("an idempotency key that is used again after its end starts another purchase", async () => {
  const account = await buyer();
  const send = await keyed(account, [uniqueName()]);
  expect((await send()).body.results).toMatchObject([{ status: "pending_registration" }]);
  await lapse(account, { expires_at: 0 });
  const { body } = await send();
  expect(body.results).toMatchObject([{ status: "failed", error_code: "domain_exists" }]);
  expect((await wallet(account)).available).toBe(98_600);
});

test("a name that an earlier try bought counts as bought, with a null id if its domain was deleted since", async () => {
  const account = await funded(await newRoomyAccount(), 1_000_000);
  const { names, send } = await cutOff(account, 1);
  const [name = ""] = names;
  await registered(account, name);
  expect((await removeForGood(account, name)).status).toBe(200);
  await lapse(account);
  expect((await send()).body.results).toMatchObject([{ status: "pending_registration", id: null }]);
  expect(await stored(account, name)).toBeUndefined();
});
