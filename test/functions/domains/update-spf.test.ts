import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { parsedOf, planRecords } from "../../../shared/domains/records/plan.ts";
import { recordsIn } from "../../../shared/domains/records/stored-record.ts";
import { syncZone } from "../../../shared/domains/records/sync.ts";
import { systemWriter } from "../../../shared/domains/setup/work.ts";
import { getZone } from "../../../shared/domains/zone.ts";
import { delegate } from "../../../shared/providers/registrar/embedded-names.ts";
import { limitsKey } from "../../../shared/rate-limits/limiter.ts";
import { addedRecord } from "../../support/dns-records.ts";
import { advance, dig, quicklyActive, setStored, workAt, write } from "../../support/domain-work.ts";
import { delegated, domainsRequest, elsewhere, readDomain, uniqueName, connected } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { recorded } from "../../support/recorded.ts";
import { request } from "../../support/request.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const update = (account: Account, name: string, spf_includes: unknown) =>
  domainsRequest(account, "PATCH", `/${name}`, { spf_includes });

/** Returns a name with an SPF record that other domains can include. */
async function partner(account: Account, value: string): Promise<string> {
  const { name } = await quicklyActive(account);
  await addedRecord(account, { domain: name, name: "_spf", type: "TXT", value });
  return `_spf.${name}`;
}

test("adds others' SPF records to the domain's SPF record, in the zone at once, and removes them again", async () => {
  const account = await newAccount();
  const [{ name }, other] = [await quicklyActive(account), await partner(account, "v=spf1 ip4:192.0.2.1 -all")];
  const { status, body } = await update(account, name, [`${other.toUpperCase()}.`, other]);
  expect([status, body.spf_includes]).toEqual([200, [other]]);
  const ours = "include:_spf.hosted-mail.example";
  expect(await dig(name, "TXT")).toEqual([`v=spf1 ${ours} include:${other} ~all`]);
  const { body: health } = await domainsRequest(account, "GET", `/${name}/health`);
  const spf = health.checks.find((check: { name: string }) => check.name === "spf");
  expect(spf).toMatchObject({ status: "pass", message: expect.stringContaining("2 of at most 10 DNS look-ups") });
  expect((await update(account, name, [])).body.spf_includes).toEqual([]);
  expect(await dig(name, "TXT")).toEqual([`v=spf1 ${ours} ~all`]);
});

test("our own SPF record is in the domain's SPF record once, also if `spf_includes` names it", async () => {
  const account = await newAccount();
  const [{ name }, other] = [await quicklyActive(account), await partner(account, "v=spf1 ip4:192.0.2.1 -all")];
  const own = "_spf.hosted-mail.example";
  const { status, body } = await update(account, name, [own, other]);
  expect([status, body.spf_includes]).toEqual([200, [own, other]]);
  expect(await dig(name, "TXT")).toEqual([`v=spf1 include:${own} include:${other} ~all`]);
  const { body: health } = await domainsRequest(account, "GET", `/${name}/health`);
  const spf = health.checks.find((check: { name: string }) => check.name === "spf");
  expect(spf).toMatchObject({ status: "pass", message: expect.stringContaining("2 of at most 10 DNS look-ups") });
});

test("the next check of a domain corrects an SPF record that has our own SPF record twice", async () => {
  const account = await newAccount();
  const [{ id, name }, work, own] = [await quicklyActive(account), workAt(new Date()), "_spf.hosted-mail.example"];
  await update(account, name, [own]);
  const { table, commit, now } = systemWriter(work, account.id);
  const store = (value: string) =>
    commit(async () => {
      const [[before], zone] = await Promise.all([
        recordsIn(table, account.id, id, "@", "TXT"),
        getZone(table, account.id, id),
      ]);
      if (!before || !zone) throw new Error(`${name} has no SPF record`);
      const edit = { zone, updated: [{ before, after: { ...parsedOf(before), value } }] };
      return { value: undefined, writes: [], ...(await planRecords(table, account.id, [edit], now())) };
    });
  await store(`v=spf1 include:${own} include:${own} ~all`);
  await syncZone(account.id, id, work);
  expect(await dig(name, "TXT")).toEqual([`v=spf1 include:${own} include:${own} ~all`]);
  await advance(account, name);
  expect(await dig(name, "TXT")).toEqual([`v=spf1 include:${own} ~all`]);
  const changes = (await recorded(account, "dns_record.updated")).length;
  await advance(account, name);
  expect(await recorded(account, "dns_record.updated")).toHaveLength(changes);
});

test("refuses an include that breaks the record, names it, and changes nothing", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const good = await partner(account, "v=spf1 ip4:192.0.2.1 -all");
  const large = await partner(account, `v=spf1 ${"a ".repeat(9)}-all`);
  const looping = await partner(account, `v=spf1 include:${name} -all`);
  const before = await storedOf(account);
  for (const [wrong, message] of [
    [large, "more than 10 DNS look-ups"],
    [looping, "is a circle"],
    [`none.${name}`, "no SPF record"],
  ] as const) {
    const { status, body } = await update(account, name, [good, wrong]);
    expect([status, body.detail]).toEqual([
      422,
      [{ loc: ["body", "spf_includes", 1], msg: expect.stringContaining(message), type: "value_error" }],
    ]);
    expect(body.detail[0].msg).toContain(wrong);
  }
  for (const wrong of ["*.example.com", "com", "http://example.com", "192.0.2.1", "a b.example.com"]) {
    expect((await update(account, name, [wrong])).body.detail, wrong).toMatchObject([
      { loc: ["body", "spf_includes", 0] },
    ]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("asks the caller to try again if the DNS is silent, and does not check includes that the domain already has", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const silent = uniqueName();
  await delegate(testTable(), silent, elsewhere);
  expect(await update(account, name, [silent])).toMatchObject({
    status: 503,
    headers: { "retry-after": "5" },
    body: { code: "upstream_unavailable", retry_after: 5 },
  });
  expect((await readDomain(account, name)).spf_includes).toEqual([]);
  await setStored(account, name, { spf_includes: ["a.example", silent] });
  expect((await update(account, name, [silent])).body.spf_includes).toEqual([silent]);
});

test("an update that looks up SPF records counts as `outbound`, and an update without a look-up does not", async () => {
  const account = await newAccount();
  await write({ put: { ...limitsKey(account.id), classes: { outbound: { perMinute: 1, burst: 2 } } } });
  const [{ name }, other] = [await connected(account), await partner(account, "v=spf1 -all")];
  const limits = async (body: object) =>
    (await domainsRequest(account, "PATCH", `/${name}`, body)).headers["ratelimit-policy"];
  expect(await limits({ dmarc_policy: "none" })).toContain('"default"');
  for (let count = 0; count < 2; count++) {
    expect((await update(account, name, [other])).status).toBe(200);
    expect((await update(account, name, [])).status).toBe(200);
  }
  const before = await storedOf(account);
  const { status, body } = await update(account, name, [other]);
  expect([status, body.code, body.limit_class]).toEqual([429, "rate_limited", "outbound"]);
  expect(await storedOf(account)).toEqual(before);
  expect((await update(account, name, [])).status).toBe(200);
  const code = `domains.update(account_id=${JSON.stringify(account.id)}, domain=${JSON.stringify(name)}, spf_includes=${JSON.stringify([other])})`;
  const { body: program } = await request("POST", "/v1/public/a2a", {
    token: account.owner.token,
    body: { request_id: randomUUID(), session_id: "s", code },
  });
  expect(JSON.stringify(program)).toContain("rate_limited");
});

test("includes that were set before the delegation are in the SPF record after the delegation", async () => {
  const account = await newAccount();
  const [{ name }, other] = [await connected(account), await partner(account, "v=spf1 -all")];
  expect((await update(account, name, [other])).status).toBe(200);
  await delegated(account, name);
  await domainsRequest(account, "POST", `/${name}/verify`);
  expect(await dig(name, "TXT")).toEqual([`v=spf1 include:_spf.hosted-mail.example include:${other} ~all`]);
});
