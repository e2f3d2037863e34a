import { expect, test } from "vitest";

import { Problem } from "../../../shared/core/errors.ts";
import { holderKey, domainNameKey } from "../../../shared/domains/domain.ts";
import { embeddedRegistrar } from "../../../shared/providers/registrar/embedded.ts";
import { leftOf, remove, statusOf } from "../../support/domain-deletions.ts";
import { advance, domainOf, setStored, write } from "../../support/domain-work.ts";
import { connected, contact } from "../../support/domains.ts";
import { newAccount, testTable } from "../../support/world.ts";

test("a deletion gives the registration back, and waits as `releasing` while the registrar does not answer", async () => {
  const account = await newAccount();
  const domain = await connected(account);
  const { id, name } = domain;
  const registrar = embeddedRegistrar(testTable(), () => new Date());
  await registrar.register({ name, contact });
  const registration = { status: "active", expires_at: "2028-01-01T00:00:00.000Z", locked: true };
  await setStored(account, name, { source: "purchased", registration, status: "releasing", is_open: false });
  const silent = {
    ...registrar,
    release: () => Promise.reject(new Problem("upstream_unavailable", "It is silent.", { retry_after: 1 })),
  };
  await expect(advance(account, name, { registrar: silent })).rejects.toThrow("It is silent.");
  expect(await domainOf(account, id)).toMatchObject({ status: "releasing" });
  expect(await registrar.registration(name)).toBeDefined();
  expect(await advance(account, name)).toBeUndefined();
  expect(await registrar.registration(name)).toBeUndefined();
  expect(await leftOf(account, domain)).toEqual([]);
});

test("the deletion of a domain whose registration failed takes nothing from the name's present holder", async () => {
  const [account, buyer] = [await newAccount(), await newAccount()];
  const { name } = await connected(account);
  const registration = { status: "failed", expires_at: null, locked: false };
  await setStored(account, name, { source: "purchased", registration, status: "failed", is_open: false });
  await write({ delete: holderKey(name) });
  const bought = await connected(buyer, { name });
  const registrar = embeddedRegistrar(testTable(), () => new Date());
  await registrar.register({ name, contact });
  expect((await remove(account, name)).status).toBe(200);
  expect(await statusOf(account, name)).toBe(404);
  expect(await registrar.registration(name)).toBeDefined();
  expect(await testTable().getMany([holderKey(name), domainNameKey(buyer.id, name)])).toMatchObject([
    { account_id: buyer.id, domain_id: bought.id },
    { domain_id: bought.id },
  ]);
});

test.each(["active", "expired"])(
  "the deletion of a formerly bought domain leaves the name to its present owner (%s)",
  async (status) => {
    const [account, buyer] = [await newAccount(), await newAccount()];
    const { id, name } = await connected(account);
    const registration = { status, expires_at: "2026-01-01T00:00:00.000Z", locked: true };
    await setStored(account, name, { source: "purchased", registration, status: "releasing", is_open: false });
    await write({ delete: holderKey(name) });
    const bought = await connected(buyer, { name });
    const registrar = embeddedRegistrar(testTable(), () => new Date());
    await registrar.register({ name, contact });
    await remove(account, name);
    expect(await domainOf(account, id)).toBeUndefined();
    expect(await registrar.registration(name)).toBeDefined();
    expect(await testTable().getMany([holderKey(name)])).toMatchObject([{ domain_id: bought.id }]);
  },
);
