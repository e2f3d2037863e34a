import { expect, test } from "vitest";

import { removeZone } from "../../../shared/deletion/zone.ts";
import { systemWriter } from "../../../shared/domains/setup/work.ts";
import { zoneKey } from "../../../shared/domains/zone.ts";
import { ZoneConflict } from "../../../shared/providers/dns/dns.ts";
import { newWorkspace } from "../../support/auth.ts";
import { addedRecord } from "../../support/dns-records.ts";
import { advance, dig, quicklyActive, storedAs, workAt, write } from "../../support/domain-work.ts";
import {
  connect,
  connected,
  delegated,
  domainsRequest,
  readDomain,
  uniqueName,
  verify,
} from "../../support/domains.ts";
import { externalDomain } from "../../support/external.ts";
import { happened } from "../../support/purchases.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("a name above or below another account's zone is refused with hosted DNS, but not with external DNS", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const workspaceId = await newWorkspace(other, "Sales");
  const { name } = await quicklyActive(account, { name: `shop.${uniqueName()}` });
  const near = [`eu.${name}`, `a.b.${name}`, name.slice("shop.".length)];
  for (const one of near) {
    const refused = await connect(other, one, workspaceId);
    expect(refused.body).toMatchObject({ status: 409, code: "zone_conflict" });
    expect(refused.body).not.toHaveProperty("conflicts_with");
    expect((await connect(other, one, workspaceId, { dns_mode: "external" })).status).toBe(201);
    const moved = await domainsRequest(other, "PATCH", `/${one}`, { dns_mode: "hosted" });
    expect(moved.body).toMatchObject({ status: 409, code: "zone_conflict" });
    // The domain of another account is not named.
    expect(moved.body.detail).toContain("hold the DNS of a name above or below it.");
  }
  expect((await connect(other, `sales${name.slice("shop".length)}`, workspaceId)).status).toBe(201);
});

test("the refusal names a domain that the caller may see, and hides a domain that the caller may not see", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account, { name: `shop.${uniqueName()}` });
  const workspaceId = await newWorkspace(account, "Sales");
  const above = name.slice("shop.".length);
  const seen = await connect(account, above, workspaceId);
  expect(seen.body).toMatchObject({ code: "zone_conflict", conflicts_with: name });
  const { token } = await newMember(account, {
    capability: "domain.purchase",
    scope: { type: "workspace", id: workspaceId },
  });
  const hidden = await connect({ ...account, owner: { ...account.owner, token } }, above, workspaceId);
  expect(hidden.body).toMatchObject({ status: 409, code: "zone_conflict" });
  expect(JSON.stringify(hidden.body)).not.toContain(name);
});

test("a name with more than 110 labels can get a zone and become active", async () => {
  const { name } = await quicklyActive(await newAccount(), { name: `${"a.".repeat(110)}${uniqueName()}` });
  expect(name.split(".").length).toBeGreaterThan(110);
});

test("a name that is proved after its subdomain got a zone waits with a reason, until that zone is gone", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const shop = await quicklyActive(account, { name: `shop.${name}` });
  await delegated(account, name);
  const reason = expect.stringContaining(`hold the DNS of ${shop.name}`);
  expect((await verify(account, name)).body).toMatchObject({
    verified: true,
    status: "pending_delegation",
    fault: null,
    message: reason,
  });
  expect(await readDomain(account, name)).toMatchObject({ status_reason: reason, verified_at: null });
  expect((await happened(account)).filter((event) => event === "domain.updated")).toHaveLength(1);
  expect(await advance(account, name)).toMatchObject({ status: "pending_delegation", failures: 1 });
  expect((await happened(account)).filter((event) => event === "domain.updated")).toHaveLength(1);

  expect((await domainsRequest(account, "DELETE", `/${shop.name}?purge=true`)).status).toBe(200);
  expect(await advance(account, name)).toMatchObject({ status: "active", status_reason: null });
  expect(await dig(name, "MX")).not.toEqual([]);
});

test("a subdomain that the zone above delegates to us waits with a reason, until the delegation goes", async () => {
  const account = await newAccount();
  const { name, nameservers } = await connected(account, { name: `shop.${uniqueName()}` });
  const parent = await quicklyActive(account, { name: name.slice("shop.".length) });
  const path = `/v1/public/accounts/${account.id}/dns-records`;
  const { token } = account.owner;
  const records: string[] = [];
  for (const value of nameservers) {
    const added = await request("POST", path, {
      token,
      body: { domain: parent.name, name: "shop", type: "NS", value },
    });
    records.push(added.body.id);
  }
  expect(await advance(account, name)).toMatchObject({
    status: "pending_delegation",
    status_reason: expect.stringContaining(`hold the DNS of ${parent.name}`),
  });
  for (const id of records) await request("DELETE", `${path}/${id}`, { token });
  expect(await advance(account, name)).toMatchObject({ status: "pending_delegation", status_reason: null });
});

test("an active domain that never got its zone is degraded, and can be deleted", async () => {
  const account = await newAccount();
  const { id, name } = await quicklyActive(account);
  const key = zoneKey(account.id, id);
  await write({ update: key, set: { wanted: false }, remove: ["zone_id"] });
  await quicklyActive(account, { name: `shop.${name}` });
  await write({ update: key, set: { wanted: true } });
  await advance(account, name);
  expect(await advance(account, name)).toMatchObject({
    status: "degraded",
    status_reason: expect.stringContaining("hold the DNS of shop."),
    broken_records: expect.arrayContaining(["ns"]),
  });
  expect((await storedAs(account, name)).unproved ?? 0).toBe(0);
  const work = workAt(new Date());
  const dns = { ...work.dns, createZone: () => Promise.reject(new ZoneConflict("There is a zone below.")) };
  await removeZone(await storedAs(account, name), systemWriter(work, account.id), dns);
});

test("an external subdomain is proved and sends with its records in the zone above", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const shop = await externalDomain(account, { name: `shop.${name}` });
  const { proof, mx, spf, dkim } = shop.records;
  for (const { name: at, type, value, priority } of [...proof, ...mx, ...spf, ...dkim]) {
    const more = priority === undefined ? {} : { priority };
    await addedRecord(account, { domain: name, name: at === "@" ? "shop" : `${at}.shop`, type, value, ...more });
  }
  expect((await verify(account, shop.name)).body).toMatchObject({ status: "active", outbound_routing_ready: true });
});
