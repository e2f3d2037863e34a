import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { ipKey, ipQueue } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { resumeIp, suspendIp } from "../../../shared/dedicated-ips/operate.ts";
import { beginWrites, operationKey, readOperation } from "../../../shared/dedicated-ips/operation.ts";
import { readOptions } from "../../../shared/dedicated-ips/stock.ts";
import { readDue } from "../../../shared/table/due.ts";
import { afterReading } from "../../support/between.ts";
import {
  activeHost,
  activeIp,
  advance,
  claimed,
  holderOf,
  host,
  newOption,
  send,
} from "../../support/dedicated-ips.ts";
import { connected, funded } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { happened, transactions, wallet } from "../../support/purchases.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const remove = (account: Account, id: string, options = {}) => send(account, "DELETE", `/${id}`, undefined, options);

const freeOf = async (optionId: string): Promise<number | undefined> =>
  (await readOptions(testTable())).find((one) => one.option_id === optionId)?.available;

/**
 * The stored items and due entries of an account that name a dedicated IP, without journal, ledger and transactions.
 */
const leftOf = async (account: Account, id: string): Promise<string[]> => {
  const due = await readDue(testTable(), ipQueue, new Date(Date.now() + 40 * 86_400_000));
  return [
    ...(await storedOf(account))
      .filter((item) => !/^(?:JOURNAL|LEDGER|LIST#transactions)/.test(item.SK) && JSON.stringify(item).includes(id))
      .map(({ SK }) => SK),
    ...due.flat().flatMap(({ at, subject }) => (subject.includes(id) ? [`due ${at}`] : [])),
  ];
};

test("the deletion of a provisioning IP voids its hold: the money and the address are free again", async () => {
  const account = await funded(await newAccount());
  const { option_id, ips } = await newOption();
  const { id } = await claimed(account, option_id);
  const before = await happened(account);
  const { status, body } = await remove(account, id);
  expect([status, body]).toEqual([200, {}]);
  const events = (await happened(account)).slice(before.length);
  expect(events.toSorted()).toEqual(["billing.transaction.updated", "dedicated_ip.deleted"]);
  expect(await wallet(account)).toEqual({ posted: 100_000, available: 100_000 });
  expect(await transactions(account)).toContain(`purchase void 25.00 Dedicated IP ${ips[0]}, the first 30 days`);
  expect(await holderOf(ips[0] ?? "")).toEqual(expect.objectContaining({ state: "free" }));
  expect(await holderOf(ips[0] ?? "")).not.toHaveProperty("account_id");
  expect(await freeOf(option_id)).toBe(1);
  expect(await leftOf(account, id)).toEqual([]);
  expect((await remove(account, id)).status).toBe(404);
});

test("the address of a deleted claim can be claimed again each time", async () => {
  const account = await funded(await newAccount(), 2_500);
  const other = await funded(await newAccount());
  const { option_id, ips } = await newOption(1);
  for (let time = 0; time < 3; time++) {
    const { id, ip_addresses } = await claimed(account, option_id);
    expect(ip_addresses[0]?.ip).toBe(ips[0]);
    expect((await remove(account, id)).status).toBe(200);
  }
  expect((await activeIp(other, option_id)).ip_addresses[0]?.ip).toBe(ips[0]);
});

test("the price of a deleted active IP is not refunded, and its address cannot be claimed again yet", async () => {
  const account = await funded(await newAccount());
  const { option_id, ips } = await newOption();
  const { id } = await activeIp(account, option_id);
  expect((await remove(account, id)).status).toBe(200);
  expect(await holderOf(ips[0] ?? "")).toMatchObject({ state: "resting" });
  expect(await freeOf(option_id)).toBe(0);
  expect(await wallet(account)).toEqual({ posted: 97_500, available: 97_500 });
  // This item stays, because the IP is still billed for the day of its deletion.
  expect(await leftOf(account, id)).toEqual([expect.stringMatching(/^PAST_IP#/)]);
});

test("other accounts can add the addresses of a deleted host", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { id, ip_addresses } = await activeHost(account);
  const ips = ip_addresses.map(({ ip }) => ip);
  expect(await holderOf(ips[0] ?? "")).toMatchObject({ account_id: account.id, firm: true });
  expect((await remove(account, id)).status).toBe(200);
  expect(await holderOf(ips[0] ?? "")).toBeUndefined();
  expect(await leftOf(account, id)).toEqual([]);
  expect((await host(other, ips)).status).toBe("pending_authorization");
});

test("a host without proof can be deleted, and the account that proved its address keeps it", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { id, ip_addresses } = await host(account);
  const ips = ip_addresses.map(({ ip }) => ip);
  await activeHost(other, ips);
  expect((await remove(account, id)).status).toBe(200);
  expect(await holderOf(ips[0] ?? "")).toMatchObject({ account_id: other.id, firm: true });
});

test("a suspended host cannot be deleted until it is resumed, but a suspended managed IP can be deleted", async () => {
  const account = await funded(await newAccount());
  const [own, managed] = [await activeHost(account), await activeIp(account)];
  for (const { id } of [own, managed]) {
    await suspendIp(testTable(), { accountId: account.id, id }, "Spam was sent from it.", new Date());
  }
  const { status, body } = await remove(account, own.id);
  expect([status, body.code, body.ip_status]).toEqual([409, "ip_not_ready", "suspended"]);
  expect(await holderOf(own.ip_addresses[0]?.ip ?? "")).toMatchObject({ account_id: account.id, firm: true });
  expect((await remove(account, managed.id)).status).toBe(200);
  await resumeIp(testTable(), { accountId: account.id, id: own.id }, new Date());
  expect((await remove(account, own.id)).status).toBe(200);
});

test("is refused while domains send from the IP", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const { name } = await connected(account);
  await send(account, "POST", `/${id}/domains/assign`, { domains: [name] });
  const { status, body } = await remove(account, id);
  expect([status, body.code, body.domain_count]).toEqual([409, "ip_in_use", 1]);
  await send(account, "POST", `/${id}/domains/unassign`, { domains: [name] });
  expect((await remove(account, id)).status).toBe(200);
});

test("a deletion succeeds while the worker activates the IP, and the price is captured or free again", async () => {
  for (let time = 0; time < 8; time++) {
    const account = await funded(await newAccount());
    const { id } = await claimed(account);
    const [removed] = await Promise.all([remove(account, id), advance(account, id)]);
    expect(removed.status).toBe(200);
    const { posted, available } = await wallet(account);
    expect([97_500, 100_000]).toContain(posted);
    expect(available).toBe(posted);
    expect((await leftOf(account, id)).filter((left) => !left.startsWith("PAST_IP#"))).toEqual([]);
  }
});

test("if a deletion and an assignment run at the same time, one of them succeeds", async () => {
  const account = await newRoomyAccount();
  await funded(account);
  for (let time = 0; time < 6; time++) {
    const { id } = await activeIp(account);
    const { name } = await connected(account);
    const [removed, assigned] = await Promise.all([
      remove(account, id),
      send(account, "POST", `/${id}/domains/assign`, { domains: [name] }),
    ]);
    expect([removed.status, assigned.status].toSorted((a, b) => a - b)).toEqual(
      removed.status === 200 ? [200, 404] : [200, 409],
    );
    const domain = (await storedOf(account)).find(
      (item) => item["name"] === name && item["workspace_id"] !== undefined,
    );
    expect(domain?.["dedicated_ip_id"]).toBe(removed.status === 200 ? null : id);
  }
});

test("needs ip.manage on the account; a caller with ip.manage on only a domain gets 404", async () => {
  const account = await newAccount();
  const { id } = await host(account);
  const viewer = await newMember(account, { role: "viewer" });
  expect((await remove(account, id, { as: viewer })).body).toMatchObject({ required_capability: "ip.manage" });
  const { id: domainId } = await connected(account);
  const narrow = await newMember(account, { capability: "ip.manage", scope: { type: "domain", id: domainId } });
  expect((await remove(account, id, { as: narrow })).status).toBe(404);
  expect((await send(account, "GET", `/${id}`)).status).toBe(200);
});

test("a deletion answers 404 if another deletion removes the IP after the first one read it, and the hold is voided once", async () => {
  const account = await funded(await newAccount());
  const { id } = await claimed(account);
  const late = await afterReading(
    ({ SK }) => SK === ipKey(account.id, id).SK,
    async () => expect((await remove(account, id)).status).toBe(200),
    () => remove(account, id),
  );
  expect([late.status, late.body.code]).toEqual([404, "not_found"]);
  expect(await wallet(account)).toEqual({ posted: 100_000, available: 100_000 });
  expect((await happened(account)).filter((type) => type === "dedicated_ip.deleted")).toHaveLength(1);
});

test("a deletion is refused if an assignment began after the deletion read the IP", async () => {
  const account = await newAccount();
  const { id } = await activeHost(account);
  const domain = await connected(account);
  const begun = {
    id: randomUUID(),
    account_id: account.id,
    dedicated_ip_id: id,
    kind: "assign" as const,
    left: [domain.id],
    domain_count: 0,
  };
  const begin = () =>
    testTable().commit(async () => ({ value: undefined, writes: beginWrites(begun, new Date()).writes }));
  const { status, body } = await afterReading(
    ({ SK }) => SK === operationKey(account.id, id).SK,
    begin,
    () => remove(account, id),
  );
  expect([status, body.code]).toEqual([409, "ip_in_use"]);
  expect(await readOperation(testTable(), account.id, id)).toMatchObject({ id: begun.id });
  expect((await send(account, "GET", `/${id}`)).status).toBe(200);
});
