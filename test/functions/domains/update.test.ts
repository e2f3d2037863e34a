import { expect, test } from "vitest";

import { domainKey } from "../../../shared/domains/domain.ts";
import { embeddedRegistrar } from "../../../shared/providers/registrar/embedded.ts";
import { afterReading } from "../../support/between.ts";
import { dig, quicklyActive, setStored, storedAs } from "../../support/domain-work.ts";
import { connected, contact, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { request } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const update = (account: Account, name: string, body: unknown, headers: Record<string, string> = {}) =>
  domainsRequest(account, "PATCH", `/${name}`, body, headers);

const get = (account: Account, name: string) => domainsRequest(account, "GET", `/${name}`);

const newTag = async ({ id, owner }: Account, name: string): Promise<string> =>
  (await request("POST", `/v1/public/accounts/${id}/tags`, { token: owner.token, body: { name } })).body.id;

const registrar = () => embeddedRegistrar(testTable(), () => new Date());

/**
 * A domain of the account that is registered through us. `registration` replaces members of the stored registration.
 */
async function registered(account: Account, registration: Record<string, unknown> = {}): Promise<string> {
  const { name } = await connected(account);
  await registrar().register({ name, contact });
  const { expiresAt } = (await registrar().registration(name)) ?? {};
  await setStored(account, name, {
    source: "purchased",
    registration: { status: "active", expires_at: expiresAt, locked: true, ...registration },
  });
  return name;
}

test("changes the settings for DNS, reports, redirects and tags, leaves omitted settings as they are, and answers like a GET", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const tag = await newTag(account, "Important");
  const steps: [sent: object, shown: object][] = [
    [{ redirect_url: "https://www.example.com/shop?a=b" }, { redirect_url: "https://www.example.com/shop?a=b" }],
    [{ dns_mode: "external" }, { dns_mode: "external" }],
    [{ dns_mode: "hosted" }, { dns_mode: "hosted" }],
    [{ dmarc_policy: "quarantine" }, { dmarc_policy: "quarantine" }],
    [{ mta_sts_mode: "testing" }, { mta_sts_mode: "testing" }],
    [{ tls_report_email: "TLS@Example.com" }, { tls_report_email: "tls@example.com" }],
    [{ dkim_rotation_months: 12 }, { dkim_rotation_months: 12 }],
    [{ dmarc_report_email: "Reports@Example.com" }, { dmarc_report_email: "reports@example.com" }],
    [{ dmarc_report_email: "Ada+d@Пример.РФ" }, { dmarc_report_email: "ada+d@xn--e1afmkfd.xn--p1ai" }],
    [{ tls_report_email: "a@xn--e1afmkfd.xn--p1ai" }, { tls_report_email: "a@xn--e1afmkfd.xn--p1ai" }],
    [{ tag_ids: [tag, tag] }, { tags: [{ id: tag, name: "Important" }] }],
    [{}, {}],
    [
      { redirect_url: null, dmarc_report_email: null, tag_ids: [] },
      { redirect_url: null, dmarc_report_email: null, tags: [] },
    ],
  ];
  let expected: object = (await get(account, name)).body;
  for (const [sent, shown] of steps) {
    const { status, body, headers } = await update(account, name, sent);
    expected = { ...expected, ...shown, updated_at: body.updated_at };
    expect([status, body], JSON.stringify(sent)).toEqual([200, expected]);
    expect(await get(account, name)).toMatchObject({ body: expected, headers: { etag: headers["etag"] } });
  }
});

test("publishes the DMARC policy and the report address in the records and in the zone", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const published = async () => {
    const { body } = await get(account, name);
    const record = body.dns_records.find((one: { name: string }) => one.name === "_dmarc");
    expect(record).toMatchObject({ is_system_managed: true, zone_status: "in_sync" });
    expect(await dig(`_dmarc.${name}`, "TXT")).toEqual([record.value]);
    expect(body.dns_record_count).toBe(7);
    return record.value;
  };
  expect(await published()).toBe("v=DMARC1; p=none");
  await update(account, name, { dmarc_policy: "reject" });
  expect(await published()).toBe("v=DMARC1; p=reject");
  await update(account, name, { dmarc_report_email: "dmarc@example.com" });
  expect(await published()).toBe("v=DMARC1; p=reject; rua=mailto:dmarc@example.com");
  const before = await get(account, name);
  await update(account, name, { dkim_rotation_months: 6 });
  expect((await get(account, name)).body.dns_records).toEqual(before.body.dns_records);
  await update(account, name, { dmarc_policy: "none", dmarc_report_email: null });
  expect(await published()).toBe("v=DMARC1; p=none");
});

test("settings from before the delegation are in the records after the delegation", async () => {
  const account = await newAccount();
  const name = uniqueName();
  await connected(account, { name });
  await update(account, name, { dmarc_policy: "quarantine", dmarc_report_email: "dmarc@example.com" });
  expect((await get(account, name)).body.dns_records).toEqual([]);

  await delegated(account, name);
  await domainsRequest(account, "POST", `/${name}/verify`);
  expect(await dig(`_dmarc.${name}`, "TXT")).toEqual(["v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com"]);
});

const refused: [body: object, loc: unknown[]][] = [
  [{ auto_renew: "yes" }, ["body", "auto_renew"]],
  [{ auto_renew: null }, ["body", "auto_renew"]],
  [{ redirect_url: "www.example.com" }, ["body", "redirect_url"]],
  [{ redirect_url: "ftp://example.com/" }, ["body", "redirect_url"]],
  [{ redirect_url: "javascript:alert(1)" }, ["body", "redirect_url"]],
  [{ redirect_url: "https://me:secret@example.com/" }, ["body", "redirect_url"]],
  [{ redirect_url: `https://example.com/${"a".repeat(2_048)}` }, ["body", "redirect_url"]],
  [{ redirect_url: "https://a.com\\@evil.com/" }, ["body", "redirect_url"]],
  [{ dmarc_policy: "delete" }, ["body", "dmarc_policy"]],
  [{ dmarc_report_email: "me" }, ["body", "dmarc_report_email"]],
  [{ dmarc_report_email: "me@example.com, you@example.com" }, ["body", "dmarc_report_email"]],
  [{ dmarc_report_email: "me@example.com; p=none" }, ["body", "dmarc_report_email"]],
  [{ dmarc_report_email: "me!10m@example.com" }, ["body", "dmarc_report_email"]],
  [{ mta_sts_mode: "on" }, ["body", "mta_sts_mode"]],
  [{ mta_sts_mode: null }, ["body", "mta_sts_mode"]],
  [{ tls_report_email: "me@example.com; x" }, ["body", "tls_report_email"]],
  [{ tls_report_email: "me,you@example.com" }, ["body", "tls_report_email"]],
  [{ tls_report_email: "me;you@example.com" }, ["body", "tls_report_email"]],
  [{ tls_report_email: "me!10m@example.com" }, ["body", "tls_report_email"]],
  [{ tls_report_email: "me?cc=you@example.com" }, ["body", "tls_report_email"]],
  [{ tls_report_email: "me#you@example.com" }, ["body", "tls_report_email"]],
  [{ tls_report_email: "me/you@example.com" }, ["body", "tls_report_email"]],
  [{ tls_report_email: "me%40you@example.com" }, ["body", "tls_report_email"]],
  [{ tls_report_email: "me{you}@example.com" }, ["body", "tls_report_email"]],
  [{ spf_includes: Array.from({ length: 11 }, () => "a.example") }, ["body", "spf_includes"]],
  [{ tag_ids: ["x"] }, ["body", "tag_ids", 0]],
  [{ tag_ids: Array.from({ length: 21 }, () => "77777777-7777-4777-8777-777777777777") }, ["body", "tag_ids"]],
  [{ status: "active" }, ["body", "status"]],
  [{ name: "example.com" }, ["body", "name"]],
  [{ workspace_id: "77777777-7777-4777-8777-777777777777" }, ["body", "workspace_id"]],
];

test("refuses invalid settings, and changes nothing", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const before = await storedOf(account);
  for (const [body, loc] of refused) {
    const answer = await update(account, name, body);
    const told = [answer.status, answer.body.detail];
    expect(told, JSON.stringify(body)).toEqual([422, [expect.objectContaining({ loc })]]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("names every missing tag by its index, and changes nothing", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { name } = await connected(account);
  const [own, foreign] = [await newTag(account, "Mine"), await newTag(other, "Theirs")];
  const { status, body } = await update(account, name, { tag_ids: [own, foreign, account.id], dmarc_policy: "reject" });
  expect(status).toBe(422);
  expect(body.detail).toMatchObject([
    { loc: ["body", "tag_ids", 1], type: "not_found" },
    { loc: ["body", "tag_ids", 2], type: "not_found" },
  ]);
  expect((await get(account, name)).body).toMatchObject({ tags: [], dmarc_policy: "none" });
});

test("a deleted tag disappears from its domains, and the other tags stay", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const [kept, gone] = [await newTag(account, "Kept"), await newTag(account, "Gone")];
  await update(account, name, { tag_ids: [gone, kept] });
  await request("DELETE", `/v1/public/accounts/${account.id}/tags/${gone}`, { token: account.owner.token });
  const left = { tags: [{ id: kept, name: "Kept" }] };
  expect((await get(account, name)).body).toMatchObject(left);
  expect((await domainsRequest(account, "GET", `?tag_id=${kept}`)).body).toMatchObject({ items: [left], total: 1 });
  expect((await update(account, name, { dmarc_policy: "reject" })).body).toMatchObject(left);
});

test("switches automatic renewal on and off for purchased names, and not for connected ones", async () => {
  const account = await newAccount();
  const { name: own } = await connected(account);
  const refused = await update(account, own, { auto_renew: true, dmarc_policy: "reject" });
  expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "auto_renew"] }] } });
  expect((await get(account, own)).body).toMatchObject({ auto_renew: false, dmarc_policy: "none" });
  expect((await update(account, own, { auto_renew: false })).body).toMatchObject({ auto_renew: false });
  const bought = await registered(account);
  for (const auto_renew of [true, false]) {
    expect((await update(account, bought, { auto_renew })).body).toMatchObject({ auto_renew });
    expect(await registrar().registration(bought)).toMatchObject({ autoRenew: false });
  }
});

test("does not switch automatic renewal on for a name that leaves for another registrar meanwhile", async () => {
  const account = await newAccount();
  const name = await registered(account);
  const { id, version } = await storedAs(account, name);
  const { PK, SK } = domainKey(account.id, id);
  const left = { source: "connected", registration: null, version: version + 1 };
  const refused = await afterReading(
    (key) => key.PK === PK && key.SK === SK,
    () => setStored(account, name, left),
    () => update(account, name, { auto_renew: true }),
  );
  expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "auto_renew"] }] } });
  expect(await storedAs(account, name)).toMatchObject({ ...left, auto_renew: false });
});

test("refuses a change if the domain has changed since the caller read its ETag", async () => {
  const account = await newAccount();
  const name = await registered(account);
  const seen = { "if-match": (await get(account, name)).headers["etag"] ?? "" };
  expect((await update(account, name, { dmarc_policy: "reject" }, seen)).status).toBe(200);
  for (const body of [{ dmarc_policy: "none" }, { redirect_url: "https://example.com/" }]) {
    expect((await update(account, name, body, seen)).body).toMatchObject({ status: 412, code: "precondition_failed" });
  }
  const fresh = { "if-match": (await get(account, name)).headers["etag"] ?? "" };
  expect((await update(account, name, { dmarc_policy: "none" }, fresh)).body).toMatchObject({ dmarc_policy: "none" });
});

test("changes of different settings at once all take effect; of several changes of one setting, one does", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const tag = await newTag(account, "Important");
  const changes = [
    { redirect_url: "https://example.com/" },
    { dmarc_policy: "reject" },
    { dmarc_report_email: "dmarc@example.com" },
    { tag_ids: [tag] },
  ];
  const answers = await Promise.all(changes.map((body) => update(account, name, body)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { body } = await get(account, name);
  expect(body).toMatchObject({
    redirect_url: "https://example.com/",
    dmarc_policy: "reject",
    dmarc_report_email: "dmarc@example.com",
    tags: [{ id: tag }],
  });
  const dmarc = body.dns_records.find((one: { name: string }) => one.name === "_dmarc");
  expect(dmarc.value).toBe("v=DMARC1; p=reject; rua=mailto:dmarc@example.com");
  const policies = ["none", "quarantine", "reject"];
  await Promise.all(policies.map((dmarc_policy) => update(account, name, { dmarc_policy })));
  const last = (await storedAs(account, name)).dmarc_policy;
  const after = (await get(account, name)).body.dns_records.find((one: { name: string }) => one.name === "_dmarc");
  expect(after.value).toBe(`v=DMARC1; p=${last}; rua=mailto:dmarc@example.com`);
});

test("the settings of a `releasing` or `failed` domain cannot change, and the answer shows the status", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  for (const domain_status of ["releasing", "failed"]) {
    await setStored(account, name, { status: domain_status, is_open: false });
    const { body } = await update(account, name, { dmarc_policy: "reject" });
    expect(body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status });
  }
});

test("tells a viewer of the domain which capability is missing", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const { token } = await newMember(account, { role: "viewer" });
  const path = `/v1/public/accounts/${account.id}/domains/${name}`;
  const { status, body } = await request("PATCH", path, { token, body: { dmarc_policy: "reject" } });
  expect([status, body.required_capability]).toEqual([403, "domain.update"]);
});
