import { expect, test } from "vitest";

import { syncZone } from "../../../../shared/domains/records/sync.ts";
import { getZone } from "../../../../shared/domains/zone.ts";
import { advance, dig, storedAs, workAt } from "../../../support/domain-work.ts";
import { connected, domainsRequest } from "../../../support/domains.ts";
import { lookWith, ownedName } from "../../../support/renewals.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

/** Runs the check of a domain whose registry does not take our nameservers, and then the worker for zones. */
async function check(account: Account, name: string): Promise<void> {
  await lookWith(account, name, { setNameservers: async () => undefined });
  const { id } = await storedAs(account, name);
  await syncZone(account.id, id, workAt(new Date()));
}

test("our nameservers answer for a bought name before its registry delegates the name", async () => {
  const { account, name } = await ownedName();
  await check(account, name);
  const { status, nameservers } = await storedAs(account, name);
  expect([status, await dig(name, "NS")]).toEqual(["pending_delegation", nameservers.toSorted()]);
  await check(account, name);
  await advance(account, name);
  expect(await storedAs(account, name)).toMatchObject({ status: "active" });
  expect(await dig(name, "MX")).toEqual([expect.stringMatching(/^\d+ /), expect.stringMatching(/^\d+ /)]);
});

test.each(["release=true&purge=true", "release=true"])(
  "the zone of a bought name that was never delegated goes when the domain is deleted (%s)",
  async (query) => {
    const { account, name } = await ownedName();
    await check(account, name);
    const { id } = await storedAs(account, name);
    const { status } = await domainsRequest(account, "DELETE", `/${name}?${query}`);
    expect(status).toBe(200);
    expect(await dig(name, "NS")).toBe("EREFUSED");
    expect((await getZone(testTable(), account.id, id))?.zone_id).toBeUndefined();
  },
);

test("a connected name and a bought name with its DNS elsewhere get no zone before they are proved", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const bought = await ownedName();
  await domainsRequest(bought.account, "PATCH", `/${bought.name}`, { dns_mode: "external" });
  await check(account, name);
  await check(bought.account, bought.name);
  expect([await dig(name, "NS"), await dig(bought.name, "NS")]).toEqual(["EREFUSED", "EREFUSED"]);
});
