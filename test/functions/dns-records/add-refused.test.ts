import { randomUUID } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import { addedRecord, ownRecords, recordsRequest, www } from "../../support/dns-records.ts";
import { connected, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, type Account } from "../../support/world.ts";

describe("a refused record", () => {
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
    [{ type: "MX", value: "10 mx.example.net", priority: 10 }, "value", /priority is a separate member/],
    [{ type: "MX", value: ".", priority: 5 }, "priority", /RFC 7505/],
    [{ type: "TXT", value: "x".repeat(2_049) }, "value", /2,?048/],
    [{ type: "TXT", value: "v=spf1 mx -all -all" }, "value", /./],
    [{ type: "SRV", name: "sip", value: "s.example.net", priority: 1, port: 1 }, "name", /_sip\._tcp/],
    [{ type: "SRV", name: "_sip._tcp", value: "s.example.net", priority: 1 }, "port", /required/],
    [{ type: "CAA", value: "letsencrypt.org" }, "tag", /required/],
    [{ type: "CAA", value: "letsencrypt.org", tag: "issue", flags: 1 }, "flags", /128/],
    [{ type: "NS", name: "@", value: "ns.example.net" }, "name", /nameservers/],
    [{ type: "NS", name: "*", value: "ns.example.net" }, "name", /wildcard/],
    [{ priority: 1 }, "priority", /only for MX, SRV, HTTPS, SVCB/],
    [{ type: "TLSA", value: "4 1 1 00" }, "value", /usage must be one of 0, 1, 2, 3, not "4"/],
    [{ type: "TLSA", value: "3 2 1 00" }, "value", /selector must be one of 0, 1, not "2"/],
    [{ type: "TLSA", value: "3 1 3 00" }, "value", /matching type must be one of 0, 1, 2, not "3"/],
    [{ type: "TLSA", value: "3 1 1" }, "value", /usage, selector, matching type, certificate data/],
    [{ type: "TLSA", value: `3 1 1 ${"ab".repeat(31)}` }, "value", /must have 64 digits, not 62/],
    [{ type: "TLSA", value: `3 1 2 ${"ab".repeat(32)}` }, "value", /must have 128 digits, not 64/],
    [{ type: "TLSA", value: "3 1 0 abc" }, "value", /two for each byte/],
    [{ type: "TLSA", value: `3 1 0 ${"ab".repeat(2_000)}` }, "value", /longer than 3990/],
    [{ type: "SSHFP", value: `5 2 ${"ab".repeat(32)}` }, "value", /algorithm must be one of 1, 2, 3, 4, 6, not "5"/],
    [{ type: "SSHFP", value: `4 3 ${"ab".repeat(32)}` }, "value", /fingerprint type must be one of 1, 2, not "3"/],
    [{ type: "SSHFP", value: `4 1 ${"ab".repeat(32)}` }, "value", /must have 40 digits, not 64/],
    [{ type: "HTTPS", value: ". alpn=h2" }, "priority", /required for HTTPS/],
    [{ type: "HTTPS", value: "1 . alpn=h2", priority: 1 }, "value", /priority is a separate member/],
    [{ type: "HTTPS", value: ". port=x", priority: 1 }, "value", /port must be a number/],
    [{ type: "HTTPS", value: "alpn=h2", priority: 1 }, "value", /./],
    [{ type: "HTTPS", value: "cdn.example.net alpn=h2", priority: 0 }, "value", /is an alias and has no parameters/],
    [{ type: "SVCB", value: `. key9=${"x".repeat(4_000)}`, priority: 1 }, "value", /longer than 3990/],
    [{ port: 1 }, "port", /only for SRV/],
    [{ tag: "issue" }, "tag", /only for CAA/],
    [{ name: "a..b" }, "name", /./],
    [{ name: "ab*" }, "name", /\*/],
    [{ name: "😀-" }, "name", /./],
    [{ name: "a".repeat(64) }, "name", /63/],
    [{ name: Array(60).fill("abcd").join(".") }, "name", /253/],
  ])("%#: names what is wrong with $1", async (body, member, message) => {
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
    [{ type: undefined }, "type", "missing"],
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
    [{ domain: "co.uk" }, "domain", "not_found"],
  ])("%#: names the fault of $1 ($2)", async (body, member, type) => {
    const answer = await recordsRequest(account, "POST", "", { domain, ...www, ...body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc: ["body", member], msg: expect.any(String), type }]);
  });

  test("names all faults at once, and is not stored", async () => {
    const body = { domain, name: "a b", type: "SRV", value: "10 x", tag: "issue" };
    const { body: answer } = await recordsRequest(account, "POST", "", body);
    const members = answer.detail.map(({ loc }: { loc: string[] }) => loc[1]);
    expect(members.toSorted()).toEqual(["name", "port", "priority", "tag", "value"]);
    expect(await ownRecords(account, domain)).toEqual([]);
  });

  test("gets the same answer for a missing domain and for another account's domain", async () => {
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

describe("an existing record", () => {
  test("an exact duplicate in any spelling and with any TTL is a 409 that names the record", async () => {
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

  test("the names and types of system records are reserved, before and after these records exist", async () => {
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

test("a delegation above a system record is refused", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const body = { domain, name: "_domainkey", type: "NS", value: "ns.example.net" };
  const refused = await recordsRequest(account, "POST", "", body);
  expect(refused.body).toMatchObject({ status: 409, code: "system_managed" });
});
