import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { advanceDomain } from "../../../functions/workers/advance-domains.ts";
import { finishRelease } from "../../../shared/deletion/domain.ts";
import { systemWriter } from "../../../shared/domains/setup/work.ts";
import { getZone, zoneKey } from "../../../shared/domains/zone.ts";
import { deletedIn } from "../../../shared/mail/mailboxes/deleted.ts";
import { withStep } from "../../support/between-calls.ts";
import { leftOf, remove, removeForGood } from "../../support/domain-deletions.ts";
import {
  advance,
  dig,
  quicklyActive,
  setStored,
  stored,
  storedAs,
  withRecords,
  workAt,
  write,
} from "../../support/domain-work.ts";
import { connected, domainsRequest } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { added, at, send } from "../../support/mailboxes.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

/** Matches the names of calls that write. */
const writes = /^(?:Transact|Put|Update|Delete)/;

test("a final deletion that loses the answer to any of its writes is finished by another deletion or by the worker", async () => {
  const account = await newAccount();
  const scene = async () => {
    const domain = await quicklyActive(account);
    await withRecords(account, domain.name, 14);
    await newMember(account, { role: "viewer", scope: { type: "domain", id: domain.id } });
    expect((await remove(account, domain.name)).status).toBe(200);
    return domain;
  };
  const whole = await scene();
  // A run without a fault lists the calls of the table.
  const { calls } = await withFault(undefined, -1, () => removeForGood(account, whole.name));
  const places = calls.flatMap((command, at) => (writes.test(command) ? [at] : []));
  expect(places.length).toBeGreaterThan(5);
  for (const [index, at] of places.entries()) {
    const domain = await scene();
    const { value: died } = await withFault("answer lost", at, () => removeForGood(account, domain.name));
    expect([200, 503], died.text).toContain(died.status);
    const left = await stored(account, domain.name);
    if (left && index % 2 === 0) expect((await removeForGood(account, domain.name)).status).toBe(200);
    else if (left) await advance(account, domain.name);
    expect(await leftOf(account, domain), `answer lost at call ${at}`).toEqual([]);
    expect(await dig(domain.name, "MX"), `answer lost at call ${at}`).toBe("EREFUSED");
  }
  expect((await domainsRequest(account, "GET", "")).body.total).toBe(0);
});

test("a domain whose deletion lost the answer to any of its writes is kept, and is active again after it is restored", async () => {
  const account = await newAccount();
  const scene = async () => {
    const domain = await quicklyActive(account);
    await withRecords(account, domain.name, 2);
    return domain;
  };
  const whole = await scene();
  // A run without a fault lists the calls of the table.
  const { calls } = await withFault(undefined, -1, () => remove(account, whole.name));
  const places = calls.flatMap((command, at) => (writes.test(command) ? [at] : []));
  expect(places.length).toBeGreaterThan(2);
  for (const at of places) {
    const { id, name } = await scene();
    await withFault("answer lost", at, () => remove(account, name));
    const { status, deletes_at, due_at } = await storedAs(account, name);
    if (status === "releasing" && due_at !== deletes_at) await advance(account, name);
    if (status === "releasing") {
      expect(await dig(name, "MX"), `answer lost at call ${at}`).toBe("EREFUSED");
      expect((await domainsRequest(account, "POST", `/${name}/restore`)).status, `answer lost at call ${at}`).toBe(200);
      await advance(account, name);
    }
    expect(await storedAs(account, name)).toMatchObject({ id, status: "active", record_count: 9 });
    expect(await dig(name, "MX"), `answer lost at call ${at}`).toHaveLength(2);
  }
});

test("deletes a zone whose creation died before the id of the zone was stored", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const { id } = await storedAs(account, name);
  await write({ update: zoneKey(account.id, id), remove: ["zone_id"], set: { dirty: ["*"], held: [] } });
  expect((await remove(account, name)).status).toBe(200);
  expect(await dig(name, "MX")).toBe("EREFUSED");
});

test("waits for a running sync of the zone, and leaves no zone behind", async () => {
  const account = await newAccount();
  const domain = await quicklyActive(account);
  const { id, name } = domain;
  const until = new Date(Date.now() + 100_000);
  await write({
    update: zoneKey(account.id, id),
    set: { lease_owner: "somebody", lease_until: until.toISOString() },
  });
  expect((await remove(account, name)).status).toBe(200);
  expect((await domainsRequest(account, "GET", `/${name}`)).body).toMatchObject({ status: "releasing" });
  expect((await getZone(testTable(), account.id, id))?.wanted).toBe(false);
  const { due_at } = await storedAs(account, name);
  await expect(advanceDomain(account.id, id, due_at ?? "", workAt(new Date()))).rejects.toThrow("being updated");
  await advanceDomain(account.id, id, due_at ?? "", workAt(new Date(until.getTime() + 1)));
  expect(await dig(name, "MX")).toBe("EREFUSED");
  await advance(account, name);
  expect(await leftOf(account, domain)).toEqual([]);
});

test("a grant on a domain that is given during the deletion of the domain is revoked too", async () => {
  const account = await newAccount();
  const seen: number[] = [];
  const whole = await connected(account);
  // A run without a fault lists the calls of the table.
  const { calls } = await withFault(undefined, -1, () => removeForGood(account, whole.name));
  for (let at = calls.length - 10; at < calls.length; at++) {
    const domain = await connected(account);
    const given = { subject_type: "user", subject_id: randomUUID(), grant_kind: "capability" };
    const grant = { ...given, capability_key: "domain.view", resource_type: "domain", resource_id: domain.id };
    const step = async () => void seen.push((await send(account, "POST", "auth/authorizations", grant)).status);
    const { value } = await withStep(at, step, () => removeForGood(account, domain.name));
    expect([at, value.status, await leftOf(account, domain)]).toEqual([at, 200, []]);
  }
  expect(seen).toContain(201);
});

test("a deletion that runs out of time has purged some of the mailboxes, and later runs purge the rest", async () => {
  const account = await newAccount();
  const domain = await quicklyActive(account);
  for (const local of ["ada", "bob", "eve"]) {
    const { id } = await added(account, domain.id, local);
    expect((await send(account, "DELETE", at(id))).status).toBe(200);
  }
  expect((await remove(account, domain.name)).status).toBe(200);
  const kept = await storedAs(account, domain.name);
  await setStored(account, domain.name, { deletes_at: null, status_reason: null });
  const work = workAt(new Date());
  const writer = systemWriter(work, account.id);
  for (const left of [2, 1, 0]) {
    const run = finishRelease(account.id, domain.id, writer, { ...work, budgetMs: 0 });
    await expect(run).rejects.toMatchObject({ status: 503, code: "busy" });
    expect(await deletedIn(testTable(), account.id, domain.id)).toHaveLength(left);
  }
  await advanceDomain(account.id, domain.id, kept.due_at ?? "", work);
  expect(await stored(account, domain.name)).toBeUndefined();
});
