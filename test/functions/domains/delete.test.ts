import { expect, test } from "vitest";

import { dkimKey } from "../../../shared/domains/records/dkim-keys.ts";
import { deleteWorkspace, newWorkspace } from "../../support/auth.ts";
import { leftOf, remove, removeForGood, statusOf } from "../../support/domain-deletions.ts";
import { dig, quicklyActive, setStored, withRecords } from "../../support/domain-work.ts";
import { connected, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { recorded } from "../../support/recorded.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

test("deletes a domain for good with its records, zone, DKIM key, grants, counts and name", async () => {
  const account = await newAccount();
  const domain = await quicklyActive(account);
  const { id, name, workspace_id } = domain;
  await withRecords(account, name, 60);
  const member = await newMember(account, { role: "viewer", scope: { type: "domain", id } });
  expect(await dig(name, "MX")).toHaveLength(2);
  const answer = await removeForGood(account, name);
  expect([answer.status, answer.body]).toEqual([200, {}]);

  expect(await statusOf(account, name)).toBe(404);
  expect((await remove(account, name)).status).toBe(404);
  expect(await dig(name, "MX")).toBe("EREFUSED");
  expect(await leftOf(account, domain)).toEqual([]);
  const path = `/v1/public/accounts/${account.id}`;
  expect((await request("GET", path, { token: member.token })).status).toBe(404);
  const { token } = account.owner;
  expect((await request("GET", `${path}/dns-records`, { token })).body).toMatchObject({ items: [], total: 0 });
  expect((await domainsRequest(account, "GET", "")).body).toMatchObject({ items: [], total: 0 });
  expect((await deleteWorkspace(account, workspace_id)).status).toBe(200);
  const counted = Map.groupBy(await recorded(account), ({ type }) => type);
  expect(counted.get("dns_record.deleted")).toHaveLength(67);
  expect(counted.get("domain.deleted")).toHaveLength(1);
});

test("leaves other domains of the account and the workspace as they are", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const [gone, kept] = [await quicklyActive(account, { workspaceId }), await quicklyActive(account, { workspaceId })];
  const before = (await domainsRequest(account, "GET", `/${kept.name}`)).body;
  await removeForGood(account, gone.name);
  expect((await domainsRequest(account, "GET", `/${kept.name}`)).body).toEqual(before);
  expect(await dig(kept.name, "MX")).toHaveLength(2);
  expect((await deleteWorkspace(account, workspaceId)).body).toMatchObject({ domain_count: 1 });
});

test("each of many concurrent deletions succeeds or finds nothing, and the total falls by one", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const domain = await connected(account, { workspaceId });
  await connected(account, { workspaceId });
  await withRecords(account, domain.name, 3);
  const answers = await Promise.all(Array.from({ length: 6 }, () => remove(account, domain.name)));
  expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 404)).toEqual([]);
  expect(answers.some(({ status }) => status === 200)).toBe(true);
  expect(await leftOf(account, domain)).toEqual([]);
  expect((await domainsRequest(account, "GET", `?workspace_id=${workspaceId}`)).body.total).toBe(1);
  expect((await deleteWorkspace(account, workspaceId)).body).toMatchObject({ domain_count: 1 });
});

test("refuses a domain that holds mailboxes, or is being registered, and leaves it as it is", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await setStored(account, name, { mailbox_count: 2 });
  const before = await storedOf(account);
  expect((await remove(account, name)).body).toMatchObject({ status: 409, code: "domain_not_empty", mailbox_count: 2 });
  expect(await storedOf(account)).toEqual(before);
  await setStored(account, name, { mailbox_count: 0, status: "pending_registration" });
  expect((await remove(account, name)).body).toMatchObject({
    status: 409,
    code: "domain_not_ready",
    domain_status: "pending_registration",
  });
  expect(await dig(name, "MX")).toHaveLength(2);
});

test("refuses a deletion if the domain has changed since the caller read its ETag", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const seen = { "if-match": (await domainsRequest(account, "GET", `/${name}`)).headers["etag"] ?? "" };
  await domainsRequest(account, "PATCH", `/${name}`, { dmarc_policy: "reject" });
  expect((await remove(account, name, seen)).body).toMatchObject({ status: 412, code: "precondition_failed" });
  const fresh = { "if-match": (await domainsRequest(account, "GET", `/${name}`)).headers["etag"] ?? "" };
  expect((await remove(account, name, fresh)).status).toBe(200);
});

test("another account that connects a deleted name gets nothing that the first account had", async () => {
  const [first, second] = [await newAccount(), await newAccount()];
  const name = uniqueName("own");
  const old = await quicklyActive(first, { name });
  await withRecords(first, name, 2);
  const keyOf = async () => dig(`hm1._domainkey.${name}`, "TXT");
  const oldKey = await keyOf();
  const member = await newMember(first, { role: "manager", scope: { type: "domain", id: old.id } });
  await removeForGood(first, name);

  const domain = await connected(second, { name });
  expect(domain.id).not.toBe(old.id);
  expect(await dig(name, "MX")).toBe("EREFUSED");
  await delegated(second, name);
  await domainsRequest(second, "POST", `/${name}/verify`);
  const { body } = await domainsRequest(second, "GET", `/${name}`);
  expect(body).toMatchObject({ status: "active", dns_record_count: 7 });
  expect(await dig(`r000.${name}`, "A")).toBe("ENOTFOUND");
  expect(await keyOf()).toHaveLength(1);
  expect(await keyOf()).not.toEqual(oldKey);
  expect(await dig(name, "NS")).toEqual(domain.nameservers.toSorted());
  for (const { id } of [first, second]) {
    const seen = await request("GET", `/v1/public/accounts/${id}/domains/${name}`, { token: member.token });
    expect(seen.status).toBe(404);
  }
  const [oldDkim] = await testTable().getMany([dkimKey(first.id, old.id)]);
  expect(oldDkim).toBeUndefined();
  const lookalike = await connected(first, { name: name.replace(/^own/, "оwn") });
  expect(lookalike.warnings).toEqual([]);
});
