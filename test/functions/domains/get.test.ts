import { expect, test } from "vitest";

import type { Capability } from "../../../shared/auth/capabilities.ts";
import { domainByName } from "../../../shared/domains/find.ts";
import { quicklyActive, setStored, withRecords } from "../../support/domain-work.ts";
import { connected, domainsRequest } from "../../support/domains.ts";
import { masked } from "../../support/entry-points.ts";
import { addMailbox, person } from "../../support/mailboxes.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const get = (account: Account, name: string, headers: Record<string, string> = {}) =>
  domainsRequest(account, "GET", `/${encodeURIComponent(name)}`, undefined, headers);

test("shows a domain with its records, sorted by name and type, and the number of the records", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const sent = { token: account.owner.token, body: { domain: name, name: "www", type: "A", value: "192.0.2.1" } };
  await request("POST", `/v1/public/accounts/${account.id}/dns-records`, sent);
  const { body } = await get(account, name);
  expect(body).toMatchObject({ name, status: "active", outbound_routing_ready: true, dns_record_count: 8 });
  const shown = body.dns_records.map((record: { name: string; type: string }) => `${record.name} ${record.type}`);
  expect(shown).toEqual([
    "@ MX",
    "@ MX",
    "@ TXT",
    "_dmarc TXT",
    "autoconfig CNAME",
    "autodiscover CNAME",
    "hm1._domainkey TXT",
    "www A",
  ]);
  expect(body.dns_records.map(({ zone_status }: { zone_status: string }) => zone_status)).toEqual(
    Array(8).fill("in_sync"),
  );
  expect([body.mailboxes, body.mailbox_count]).toEqual([[], 0]);
});

test("shows null instead of the count of records or mailboxes to a caller who cannot see them", async () => {
  const account = await newAccount();
  const { id, name } = await quicklyActive(account);
  await addMailbox(account, { domain: name, ...person("ada") });
  const scope = { type: "domain" as const, id };
  const seenWith = async (...others: Capability[]) => {
    const held = ["domain.view" as const, ...others].map((capability) => ({ capability, scope }));
    const { token } = await newMember(account, ...held);
    const { body } = await request("GET", `/v1/public/accounts/${account.id}/domains/${name}`, { token });
    return [body.dns_records.length, body.dns_record_count, body.mailboxes.length, body.mailbox_count];
  };
  expect(await seenWith()).toEqual([0, null, 0, null]);
  expect(await seenWith("dns.view")).toEqual([7, 7, 0, null]);
  expect(await seenWith("mailbox.view")).toEqual([0, null, 1, 1]);
});

test("the contents that prevent a deletion are counted only for callers who see them", async () => {
  const account = await newAccount();
  const { name, workspace_id } = await quicklyActive(account);
  await addMailbox(account, { domain: name, ...person("ada") });
  const path = `/v1/public/accounts/${account.id}`;
  const deleting = async (what: string, ...held: Capability[]) => {
    const { token } = await newMember(account, ...held.map((capability) => ({ capability })));
    return (await request("DELETE", `${path}/${what}`, { token })).body;
  };
  const domain = await deleting(`domains/${name}`, "domain.delete");
  expect([domain.code, domain.mailbox_count]).toEqual(["domain_not_empty", undefined]);
  expect((await deleting(`domains/${name}`, "domain.delete", "mailbox.view")).mailbox_count).toBe(1);
  const workspace = await deleting(`workspaces/${workspace_id}`, "workspace.manage");
  expect([workspace.code, workspace.domain_count]).toEqual(["workspace_not_empty", undefined]);
  expect((await deleting(`workspaces/${workspace_id}`, "workspace.manage", "domain.view")).domain_count).toBe(1);
});

test("shows the first hundred of many records, with the exact count", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await withRecords(account, name, 103);
  const { body } = await get(account, name);
  expect(body.dns_record_count).toBe(103);
  expect(body.dns_records).toHaveLength(100);
  expect(body.dns_records[99]).toMatchObject({ name: "r099", zone_status: "pending" });
});

test("answers 304 until the domain itself changes, even if its records change, and 200 after that", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const etag = (await get(account, name)).headers["etag"] ?? "";
  const known = { "if-none-match": etag };
  expect(await get(account, name, known)).toMatchObject({ status: 304, text: "" });
  const sent = { token: account.owner.token, body: { domain: name, name: "www", type: "A", value: "192.0.2.1" } };
  await request("POST", `/v1/public/accounts/${account.id}/dns-records`, sent);
  expect(await get(account, name)).toMatchObject({ headers: { etag }, body: { dns_record_count: 1 } });
  expect((await get(account, name, known)).status).toBe(304);
  await domainsRequest(account, "PATCH", `/${name}`, { tls_report_email: "tls@example.com" });
  expect((await get(account, name, known)).status).toBe(200);
});

test("finds a domain by its name for one and a half read units", async () => {
  const account = await newAccount();
  const { id, name } = await connected(account);
  const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  expect((await domainByName(testTable(usage), account.id, name))?.id).toBe(id);
  expect(usage).toEqual({ readUnits: 1.5, writeUnits: 0, calls: 2 });
});

test("answers the same for another account's name, an unknown name, and a name out of the caller's sight", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const [mine, hidden, foreign] = [await connected(account), await connected(account), await connected(other)];
  const member = await newMember(account, { role: "viewer", scope: { type: "domain", id: mine.id } });
  const path = `/v1/public/accounts/${account.id}/domains`;
  expect((await request("GET", `${path}/${mine.name}`, { token: member.token })).status).toBe(200);
  const answers = await Promise.all(
    [hidden.name, foreign.name, "nobody-has-this.com"].map((name) =>
      request("GET", `${path}/${name}`, { token: member.token }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect(new Set(answers.map(({ body }) => masked(body))).size).toBe(1);
  expect((await get(account, foreign.name)).status).toBe(404);
});

test("refuses an invalid domain name in the path", async () => {
  const account = await newAccount();
  for (const name of ["com", "a..com", "192.0.2.1", "my_shop.com", account.id]) {
    const { status, body } = await get(account, name);
    expect([status, body.detail], name).toEqual([422, [expect.objectContaining({ loc: ["path", "domain"] })]]);
  }
});

test("shows mail as ready to send while the domain is active or degraded", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const ready: Record<string, boolean> = {};
  for (const status of ["pending_delegation", "active", "degraded", "suspended", "expired", "releasing"]) {
    await setStored(account, name, { status });
    ready[status] = (await get(account, name)).body.outbound_routing_ready;
  }
  expect(Object.keys(ready).filter((status) => ready[status])).toEqual(["active", "degraded"]);
});
