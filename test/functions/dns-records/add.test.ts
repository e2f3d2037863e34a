import { randomUUID } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/accounts/operate.ts";
import { zoneWork } from "../../../shared/zones/outside.ts";
import { syncZone } from "../../../shared/zones/sync.ts";
import { newWorkspace } from "../../support/auth.ts";
import { addedRecord, ownRecords, recordsRequest, replyTo, served } from "../../support/dns-records.ts";
import { setStored } from "../../support/domain-work.ts";
import { active, connected, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, newServiceAccount, testTable, type Account } from "../../support/world.ts";

const www = { name: "www", type: "A", value: "192.0.2.1" };

describe("in the zone", () => {
  const longText = `${"é".repeat(300)}"\\ ${"x".repeat(1_445)}`;

  test("has each type at once, as it was written", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const add = (body: object) => addedRecord(account, { domain, ...body });
    const texts = ["v=spf1 -all", longText, '  spaces  and "quotes" '];

    const records = [
      await add({ name: "@", type: "A", value: "192.0.2.1" }),
      await add({ name: "@", type: "AAAA", value: "2001:DB8:0:0::1" }),
      await add({ name: "alias", type: "CNAME", value: "Target.Example.NET." }),
      await add({ name: "mail", type: "MX", value: "mx.example.net", priority: 5 }),
      await add({ name: "silent", type: "MX", value: ".", priority: 0 }),
      await add({ name: "_sip._tcp", type: "SRV", value: "sip.example.net", priority: 1, weight: 2, port: 5060 }),
      await add({ name: "@", type: "CAA", value: "letsencrypt.org", tag: "issue", flags: 128 }),
      await add({ name: "*", type: "A", value: "198.51.100.7", ttl: 60 }),
      await add({ name: "BÜCHER", type: "A", value: "203.0.113.9" }),
      await add({ name: "sub", type: "NS", value: "ns1.example.net" }),
    ];
    for (const value of texts) records.push(await add({ name: "text", type: "TXT", value }));

    expect(new Set(records.map(({ zone_status }) => zone_status))).toEqual(new Set(["in_sync"]));
    expect(Buffer.byteLength(longText)).toBe(2_048);
    expect(await served(domain, "A")).toEqual(["192.0.2.1"]);
    expect(await served(domain, "AAAA")).toEqual(["2001:db8::1"]);
    expect(await served(`alias.${domain}`, "CNAME")).toEqual(["target.example.net"]);
    expect(await served(`mail.${domain}`, "MX")).toMatchObject([{ exchange: "mx.example.net", priority: 5 }]);
    expect(await served(`silent.${domain}`, "MX")).toMatchObject([{ exchange: "", priority: 0 }]);
    expect(await served(`_sip._tcp.${domain}`, "SRV")).toMatchObject([
      { name: "sip.example.net", priority: 1, weight: 2, port: 5060 },
    ]);
    expect(await served(domain, "CAA")).toMatchObject([{ critical: 128, issue: "letsencrypt.org" }]);
    expect(await served(`anything.${domain}`, "A")).toEqual(["198.51.100.7"]);
    expect(await served(`xn--bcher-kva.${domain}`, "A")).toEqual(["203.0.113.9"]);
    expect(await served(`text.${domain}`, "TXT")).toEqual(texts.toSorted());
    const referral = await replyTo(`www.sub.${domain}`, "A");
    expect(referral.authorities).toMatchObject([{ name: `sub.${domain}`, type: "NS", data: "ns1.example.net" }]);
  });

  test("goes by the lowest TTL of one name and type, and each record keeps its own", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const first = await addedRecord(account, { domain, ...www, ttl: 600 });
    const second = await addedRecord(account, { domain, ...www, value: "192.0.2.2", ttl: 120 });
    expect([first.ttl, second.ttl]).toEqual([600, 120]);
    const { answers } = await replyTo(`www.${domain}`, "A");
    expect(answers).toMatchObject([{ ttl: 120 }, { ttl: 120 }]);
  });

  test("has a record of a domain that nobody delegated once it is delegated, and until then it is pending", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    expect((await addedRecord(account, { domain, ...www })).zone_status).toBe("pending");
    expect(await served(`www.${domain}`, "A")).toEqual([]);
    await delegated(account, domain);
    expect((await domainsRequest(account, "POST", `/${domain}/verify`)).body).toMatchObject({ verified: true });
    expect(await served(`www.${domain}`, "A")).toEqual(["192.0.2.1"]);
    expect(await ownRecords(account, domain)).toMatchObject([{ name: "www", zone_status: "in_sync" }]);
  });
});

describe("its shape", () => {
  test("has all its members, those of other types as null, and an id of its own in the account", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const first = await recordsRequest(account, "POST", "", { domain, name: "WWW.", type: "A", value: " 192.0.2.1 " });
    expect(first.body.detail).toMatchObject([{ loc: ["body", "name"] }]);
    const { status, body } = await recordsRequest(account, "POST", "", {
      domain,
      name: "WWW",
      type: "A",
      value: " 192.0.2.1 ",
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: 1,
      domain,
      name: "www",
      type: "A",
      value: "192.0.2.1",
      ttl: 3_600,
      priority: null,
      weight: null,
      port: null,
      flags: null,
      tag: null,
      is_system_managed: false,
      zone_status: "pending",
      created_at: expect.stringMatching(/\.\d{3}Z$/),
      updated_at: body.created_at,
    });
    expect(
      (await addedRecord(account, { domain, name: "mail", type: "MX", value: "a.example.net", priority: 1 })).id,
    ).toBe(2);
    const elsewhere = await newAccount();
    const { name } = await connected(elsewhere);
    expect((await addedRecord(elsewhere, { domain: name, ...www })).id).toBe(1);
  });

  test("does not have the id of a record that was deleted", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const { id } = await addedRecord(account, { domain, ...www });
    expect((await recordsRequest(account, "DELETE", `/${id}`)).status).toBe(200);
    expect((await addedRecord(account, { domain, ...www })).id).toBe(id + 1);
    expect((await recordsRequest(account, "PATCH", `/${id}`, { ttl: 60 })).status).toBe(404);
  });

  test("finds the domain by its id and by its name in any spelling", async () => {
    const account = await newAccount();
    const name = uniqueName("bücher-");
    const { name: domain, id } = await connected(account, { name });
    const spellings = [
      id,
      id.toUpperCase(),
      name,
      name.toUpperCase(),
      `${domain}.`,
      domain.toUpperCase(),
      name.replaceAll(".", "。"),
    ];
    for (const [index, spelling] of spellings.entries()) {
      const record = await addedRecord(account, { domain: spelling, ...www, value: `192.0.2.${index}` });
      expect(record).toMatchObject({ domain, name: "www" });
    }
  });

  test("takes a full name in the domain, and makes it one in it", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    for (const [name, kept] of [
      [`a.${domain}`, "a"],
      [`b.${domain.toUpperCase()}.`, "b"],
      [domain, "@"],
      ["*.c", "*.c"],
    ]) {
      expect((await addedRecord(account, { domain, ...www, name })).name).toBe(kept);
    }
  });
});

describe("refused at its place", () => {
  let account: Account;
  let domain: string;
  beforeAll(async () => {
    account = await newRoomyAccount();
    ({ name: domain } = await connected(account));
  });

  test.each<[body: object, member: string, message: RegExp]>([
    [{ type: "A", value: "192.0.2.256" }, "value", /address/],
    [{ type: "A", value: "2001:db8::1" }, "value", /AAAA/],
    [{ type: "AAAA", value: "192.0.2.1" }, "value", /\bA\b/],
    [{ type: "CNAME", value: "192.0.2.1" }, "value", /./],
    [{ type: "CNAME", name: "@", value: "example.net" }, "name", /cannot be a CNAME/],
    [{ type: "MX", value: "mx.example.net" }, "priority", /required/],
    [{ type: "MX", value: "10 mx.example.net", priority: 10 }, "value", /priority is a member/],
    [{ type: "MX", value: ".", priority: 5 }, "priority", /RFC 7505/],
    [{ type: "TXT", value: "x".repeat(2_049) }, "value", /2,?048/],
    [{ type: "TXT", value: "v=spf1 mx -all -all" }, "value", /./],
    [{ type: "SRV", name: "sip", value: "s.example.net", priority: 1, port: 1 }, "name", /_sip\._tcp/],
    [{ type: "SRV", name: "_sip._tcp", value: "s.example.net", priority: 1 }, "port", /required/],
    [{ type: "CAA", value: "letsencrypt.org" }, "tag", /required/],
    [{ type: "CAA", value: "letsencrypt.org", tag: "issue", flags: 1 }, "flags", /128/],
    [{ type: "NS", name: "@", value: "ns.example.net" }, "name", /nameservers/],
    [{ type: "NS", name: "*", value: "ns.example.net" }, "name", /wildcard/],
    [{ priority: 1 }, "priority", /only for MX and SRV/],
    [{ port: 1 }, "port", /only for SRV/],
    [{ tag: "issue" }, "tag", /only for CAA/],
    [{ name: "a..b" }, "name", /./],
    [{ name: "ab*" }, "name", /\*/],
    [{ name: "😀-" }, "name", /./],
    [{ name: "a".repeat(64) }, "name", /63/],
    [{ name: Array(60).fill("abcd").join(".") }, "name", /253/],
  ])("%#: what is wrong with the $1", async (body, member, message) => {
    const answer = await recordsRequest(account, "POST", "", { domain, ...www, ...body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      { loc: ["body", member], msg: expect.stringMatching(message), type: "value_error" },
    ]);
  });

  test.each<[body: object, member: string, type: string]>([
    [{ name: undefined }, "name", "missing"],
    [{ value: undefined }, "value", "missing"],
    [{ domain: undefined }, "domain", "missing"],
    [{ type: "PTR" }, "type", "enum"],
    [{ type: "a" }, "type", "enum"],
    [{ value: "" }, "value", "string_too_short"],
    [{ value: 7 }, "value", "string_type"],
    [{ ttl: 59 }, "ttl", "greater_than_equal"],
    [{ ttl: 86_401 }, "ttl", "less_than_equal"],
    [{ ttl: 60.5 }, "ttl", "int_type"],
    [{ ttl: "60" }, "ttl", "number_type"],
    [{ ttl: null }, "ttl", "number_type"],
    [{ priority: 65_536 }, "priority", "less_than_equal"],
    [{ id: 7 }, "id", "extra_forbidden"],
    [{ is_system_managed: true }, "is_system_managed", "extra_forbidden"],
    [{ domain: "not a name" }, "domain", "value_error"],
    [{ domain: "co.uk" }, "domain", "value_error"],
  ])("%#: $1 that is $2", async (body, member, type) => {
    const answer = await recordsRequest(account, "POST", "", { domain, ...www, ...body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc: ["body", member], msg: expect.any(String), type }]);
  });

  test("says all that is wrong at once, and has kept nothing of it all", async () => {
    const body = { domain, name: "a b", type: "SRV", value: "10 x", tag: "issue" };
    const { body: answer } = await recordsRequest(account, "POST", "", body);
    const members = answer.detail.map(({ loc }: { loc: string[] }) => loc[1]);
    expect(members.toSorted()).toEqual(["name", "port", "priority", "tag", "value"]);
    expect(await ownRecords(account, domain)).toEqual([]);
  });

  test("a domain that is not there, or another account's, with the same words", async () => {
    const other = await newAccount();
    const theirs = await connected(other);
    const refs = [uniqueName(), theirs.name, theirs.id, randomUUID()];
    const answers = await Promise.all(refs.map((ref) => recordsRequest(account, "POST", "", { ...www, domain: ref })));
    const detail = [{ loc: ["body", "domain"], msg: expect.stringContaining("no such domain"), type: "not_found" }];
    expect(answers.map(({ status, body }) => [status, body.detail])).toEqual(refs.map(() => [422, detail]));
    expect(new Set(answers.map(({ body }) => body.detail[0].msg)).size).toBe(1);
    expect(await ownRecords(other, theirs.name)).toEqual([]);
  });
});

describe("what is there already", () => {
  test("an exact duplicate in any spelling is a 409 that names the record, whatever its TTL", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const { id } = await addedRecord(account, { domain, name: "www", type: "AAAA", value: "2001:db8::1", ttl: 600 });
    for (const body of [
      { name: "WWW", value: "2001:DB8:0::1" },
      { name: `www.${domain}.`, value: "2001:db8::0:1", ttl: 60 },
    ]) {
      const answer = await recordsRequest(account, "POST", "", { domain, type: "AAAA", ...body });
      expect(answer.body).toMatchObject({ status: 409, code: "record_exists", conflicts_with: id });
    }
    expect(await ownRecords(account, domain)).toMatchObject([{ id, ttl: 600 }]);
  });

  test("a conflict is a 409 that names the record in the way", async () => {
    const account = await newRoomyAccount();
    const { name: domain } = await connected(account);
    const there = [
      { name: "alias", type: "CNAME", value: "example.net" },
      { name: "www", type: "A", value: "192.0.2.1" },
      { name: "sub", type: "NS", value: "ns.example.net" },
      { name: "mail", type: "TXT", value: "v=spf1 -all" },
      { name: "_dmarc.mail", type: "TXT", value: "v=DMARC1; p=none" },
      { name: "mail", type: "MX", value: ".", priority: 0 },
    ];
    const ids: number[] = [];
    for (const body of there) ids.push((await addedRecord(account, { domain, ...body })).id);
    const refused = [
      [{ name: "alias", type: "CNAME", value: "example.org" }, 0],
      [{ name: "alias", type: "TXT", value: "x" }, 0],
      [{ name: "www", type: "CNAME", value: "example.net" }, 1],
      [{ name: "sub", type: "A", value: "192.0.2.1" }, 2],
      [{ name: "www", type: "NS", value: "ns.example.net" }, 1],
      [{ name: "mail", type: "TXT", value: "v=spf1 mx -all" }, 3],
      [{ name: "_dmarc.mail", type: "TXT", value: "v=DMARC1; p=reject" }, 4],
      [{ name: "mail", type: "MX", value: "mx.example.net", priority: 1 }, 5],
    ] as const;
    for (const [body, index] of refused) {
      const answer = await recordsRequest(account, "POST", "", { domain, ...body });
      expect([body, answer.body]).toMatchObject([
        body,
        { status: 409, code: "record_conflict", conflicts_with: ids[index] },
      ]);
    }
    expect(await ownRecords(account, domain)).toHaveLength(there.length);
  });

  test("the places of system records are theirs, before and after they are there", async () => {
    const account = await newRoomyAccount();
    const { name: domain } = await connected(account);
    const refused = [
      { name: "@", type: "MX", value: "mx.example.net", priority: 1 },
      { name: "@", type: "TXT", value: "v=spf1 -all" },
      { name: "_dmarc", type: "TXT", value: "v=DMARC1; p=none" },
      { name: "hm1._domainkey", type: "TXT", value: "v=DKIM1; p=" },
      { name: "autoconfig", type: "A", value: "192.0.2.1" },
      { name: "autodiscover", type: "CNAME", value: "example.net" },
    ];
    const codes = async () =>
      Promise.all(refused.map(async (body) => (await recordsRequest(account, "POST", "", { domain, ...body })).body));
    for (const body of await codes()) {
      expect(body).toMatchObject({ status: 409, code: "system_managed" });
      expect(body).not.toHaveProperty("conflicts_with");
    }
    await delegated(account, domain);
    await domainsRequest(account, "POST", `/${domain}/verify`);
    const { items } = (await recordsRequest(account, "GET", `?domain=${domain}`)).body;
    for (const [index, body] of (await codes()).entries()) {
      expect(body).toMatchObject({ status: 409, code: "system_managed" });
      const inTheWay = items.find(({ id }: { id: number }) => id === body.conflicts_with);
      expect(inTheWay).toMatchObject({ name: refused[index]?.name, is_system_managed: true });
    }
    expect(
      (await addedRecord(account, { domain, name: "@", type: "TXT", value: "site-verification=1" })).zone_status,
    ).toBe("in_sync");
  });
});

test("a delegation does not take a system record out of reach", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const body = { domain, name: "_domainkey", type: "NS", value: "ns.example.net" };
  const refused = await recordsRequest(account, "POST", "", body);
  expect(refused.body).toMatchObject({ status: 409, code: "system_managed" });
});

test("a domain has a thousand records, and none come once it is going away", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const add = async () => (await recordsRequest(account, "POST", "", { domain, ...www })).body;
  await setStored(account, domain, { record_count: 1_000 });
  expect(await add()).toMatchObject({ status: 409, code: "limit_reached" });
  await setStored(account, domain, { record_count: 0, is_open: false, status: "releasing" });
  expect(await add()).toMatchObject({ status: 409, code: "domain_not_ready", domain_status: "releasing" });
  expect(await ownRecords(account, domain)).toEqual([]);
});

describe("at the same time", () => {
  const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

  test("of twelve requests for the same record one gets it", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => recordsRequest(account, "POST", "", { domain, ...www })),
    );
    expect(statuses(answers)).toEqual([201, ...Array(11).fill(409)]);
    expect(await ownRecords(account, domain)).toHaveLength(1);
  });

  test("a CNAME and an A of one name do not both come", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const answers = await Promise.all(
      [www, { ...www, type: "CNAME", value: "example.net" }].map((body) =>
        recordsRequest(account, "POST", "", { domain, ...body }),
      ),
    );
    expect(statuses(answers)).toEqual([201, 409]);
  });

  test("different records of one name, and of one domain, all come, and the zone has them all", async () => {
    const account = await newAccount();
    const { name: domain, id: domainId } = await active(account);
    const values = Array.from({ length: 4 }, (_, index) => `192.0.2.${index}`);
    const answers = await Promise.all([
      ...values.map((value) => recordsRequest(account, "POST", "", { domain, ...www, value })),
      ...values.map((value, index) =>
        recordsRequest(account, "POST", "", { domain, ...www, name: `n${index}`, value }),
      ),
    ]);
    expect(statuses(answers)).toEqual(Array(8).fill(201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(8);
    // Who came while others were at the zone may have left theirs to them, and they to the worker.
    await syncZone(account.id, domainId, zoneWork("test"));
    const shown = (await ownRecords(account, domain)).map(({ zone_status }) => zone_status);
    expect(new Set(shown)).toEqual(new Set(["in_sync"]));
    expect(await served(`www.${domain}`, "A")).toEqual(values);
    const others = await Promise.all(values.map((_, index) => served(`n${index}.${domain}`, "A")));
    expect(others.flat()).toEqual(values);
  });
});

describe("who may", () => {
  test("who manages the DNS of one domain or workspace may there, and is told of others as if they were not there", async () => {
    const account = await newAccount();
    const workspaceId = await newWorkspace(account, "Theirs");
    const [mine, inside, outside] = [
      await connected(account),
      await connected(account, { workspaceId }),
      await connected(account),
    ];
    const program = await newServiceAccount(
      account,
      { capability: "dns.manage", scope: { type: "domain", id: mine.id } },
      { capability: "dns.manage", scope: { type: "workspace", id: workspaceId } },
    );
    const add = (domain: string) => recordsRequest(account, "POST", "", { domain, ...www }, program);
    expect([(await add(mine.name)).status, (await add(inside.id)).status]).toEqual([201, 201]);
    const [hidden, missing] = [await add(outside.name), await add(uniqueName())];
    expect(hidden.status).toBe(422);
    expect(hidden.body).toEqual(missing.body);
    expect(await ownRecords(account, outside.name)).toEqual([]);
  });

  test("who may only look is told what is missing", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const viewer = await newMember(account, { role: "viewer" });
    const { body } = await recordsRequest(account, "POST", "", { domain, ...www }, viewer);
    expect(body).toMatchObject({ status: 403, code: "forbidden", required_capability: "dns.manage" });
  });

  test("nobody while the account is suspended", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    await setAccountStatus(testTable(), account.id, "suspended", new Date());
    expect((await recordsRequest(account, "POST", "", { domain, ...www })).body).toMatchObject({
      code: "account_suspended",
    });
    expect(await ownRecords(account, domain)).toEqual([]);
  });
});

describe("sent again", () => {
  test("with the same key it is the same bytes, and no second record", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const headers = { "idempotency-key": randomUUID() };
    const send = (value = www.value) => recordsRequest(account, "POST", "", { domain, ...www, value }, { headers });
    const [first, second] = [await send(), await send()];
    expect(first.body).toMatchObject({ zone_status: "in_sync" });
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers["idempotency-replayed"]).toBe("true");
    expect((await send("192.0.2.2")).body.detail).toMatchObject([{ loc: ["header", "idempotency-key"] }]);
    expect(await ownRecords(account, domain)).toHaveLength(1);
  });
});
