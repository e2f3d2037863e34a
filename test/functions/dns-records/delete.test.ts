import { expect, test } from "vitest";

import { addedRecord, ownRecords, recordsRequest, served, www } from "../../support/dns-records.ts";
import { active, connected, domainsRequest } from "../../support/domains.ts";
import { statusesOf } from "../../support/request.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("deletes a record once, from the list, from the domain's count and from the zone", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const { id } = await addedRecord(account, { domain, ...www });
  const other = await addedRecord(account, { domain, ...www, value: "192.0.2.2" });
  const counted = async () => (await domainsRequest(account, "GET", `/${domain}`)).body.dns_record_count;
  const before = await counted();
  const answer = await recordsRequest(account, "DELETE", `/${id}`);
  expect([answer.status, answer.body]).toEqual([200, {}]);
  expect(await served(`www.${domain}`, "A")).toEqual(["192.0.2.2"]);
  expect(await ownRecords(account, domain)).toEqual([other]);
  expect(await counted()).toBe(before - 1);
  expect((await recordsRequest(account, "DELETE", `/${id}`)).status).toBe(404);
  await recordsRequest(account, "DELETE", `/${other.id}`);
  expect(await served(`www.${domain}`, "A")).toEqual([]);
});

test("makes room for a conflicting record, in the zone too", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const { id } = await addedRecord(account, { domain, name: "www", type: "CNAME", value: "example.net" });
  await recordsRequest(account, "DELETE", `/${id}`);
  expect(await addedRecord(account, { domain, ...www })).toMatchObject({ zone_status: "in_sync" });
  expect(await served(`www.${domain}`, "A")).toEqual(["192.0.2.1"]);
});

test("of many concurrent deletions one succeeds, and the count falls by one", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const { id } = await addedRecord(account, { domain, ...www });
  await addedRecord(account, { domain, ...www, name: "other" });
  const answers = await Promise.all(Array.from({ length: 8 }, () => recordsRequest(account, "DELETE", `/${id}`)));
  expect(statusesOf(answers)).toEqual([200, ...Array(7).fill(404)]);
  expect((await domainsRequest(account, "GET", `/${domain}`)).body.dns_record_count).toBe(1);
  expect((await recordsRequest(account, "GET")).body.total).toBe(1);
});

test("refuses to delete system records", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const { items, total } = (await recordsRequest(account, "GET", `?domain=${domain}`)).body;
  expect(items).toHaveLength(7);
  for (const { id } of items) {
    expect((await recordsRequest(account, "DELETE", `/${id}`)).body).toMatchObject({
      status: 409,
      code: "system_managed",
    });
  }
  expect((await recordsRequest(account, "GET", `?domain=${domain}`)).body.total).toBe(total);
});

test("answers 404 for another account's record, and needs dns.manage", async () => {
  const account = await newAccount();
  const { name: domain, id: domainId } = await connected(account);
  const { id } = await addedRecord(account, { domain, ...www });
  expect((await recordsRequest(await newAccount(), "DELETE", `/${id}`)).status).toBe(404);
  const viewer = await newMember(account, { role: "viewer" });
  const refused = await recordsRequest(account, "DELETE", `/${id}`, undefined, viewer);
  expect(refused.body).toMatchObject({ status: 403, required_capability: "dns.manage" });
  const manager = await newMember(account, { role: "dns_manager", scope: { type: "domain", id: domainId } });
  expect((await recordsRequest(account, "DELETE", `/${id}`, undefined, manager)).status).toBe(200);
});
