import { describe, expect, test } from "vitest";

import { addedRecord, ownRecords, recordsRequest, replyTo, served, www } from "../../support/dns-records.ts";
import { setStored } from "../../support/domain-work.ts";
import { active, connected, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { newAccount } from "../../support/world.ts";

describe("the zone", () => {
  const longText = `${"é".repeat(300)}"\\ ${"x".repeat(1_445)}`;

  test("serves each record type at once", async () => {
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

  test("serves TLSA, SSHFP, HTTPS and SVCB records in wire format, whatever their spelling", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const hash = "0123456789abcdef".repeat(4);
    const add = async (body: object) => (await addedRecord(account, { domain, ...body })).value;
    const values = [
      await add({ name: "_443._tcp", type: "TLSA", value: ` 3 1  1 ${hash.toUpperCase()} ` }),
      await add({ name: "host", type: "SSHFP", value: `4 2 ${hash.slice(0, 32)} ${hash.slice(32)}` }),
      await add({ name: "@", type: "HTTPS", value: "CDN.example.net.", priority: 0 }),
      await add({ name: "_8443._https", type: "HTTPS", value: '. port=8443 alpn="h3,h2"', priority: 1 }),
      await add({ name: "_dns", type: "SVCB", value: "dns.example.net alpn=dot", priority: 65_535 }),
    ];
    expect(values).toEqual([
      `3 1 1 ${hash}`,
      `4 2 ${hash}`,
      "cdn.example.net",
      '. alpn="h3,h2" port=8443',
      "dns.example.net alpn=dot",
    ]);
    const answers = async (name: string, type: string) => (await replyTo(name, type)).answers;
    const certificate = Buffer.from(hash, "hex");
    const tlsa = { usage: 3, selector: 1, matchingType: 1, certificate };
    expect(await answers(`_443._tcp.${domain}`, "TLSA")).toMatchObject([{ data: tlsa }]);
    const sshfp = { algorithm: 4, hash: 2, fingerprint: hash.toUpperCase() };
    expect(await answers(`host.${domain}`, "SSHFP")).toMatchObject([{ data: sshfp }]);
    // The names dns.example.net and cdn.example.net in wire format.
    const [dns, cdn] = ["03646e73", "0363646e"].map((first) => `${first}076578616d706c65036e657400`);
    const https = "UNKNOWN_65";
    // The wire format (RFC 9460) has the priority, the target, and each parameter with its key, length and value.
    const wire = (hex: string) => [{ data: Buffer.from(hex, "hex") }];
    expect(await answers(domain, https)).toMatchObject(wire(`0000${cdn}`));
    expect(await answers(`_8443._https.${domain}`, https)).toMatchObject(
      wire("000100000100060268330268320003000220fb"),
    );
    expect(await answers(`_dns.${domain}`, "UNKNOWN_64")).toMatchObject(wire(`ffff${dns}0001000403646f74`));
  });

  test("serves all records of a name and type with their lowest TTL, and each record keeps its own TTL", async () => {
    const account = await newAccount();
    const { name: domain } = await active(account);
    const first = await addedRecord(account, { domain, ...www, ttl: 600 });
    const second = await addedRecord(account, { domain, ...www, value: "192.0.2.2", ttl: 120 });
    expect([first.ttl, second.ttl]).toEqual([600, 120]);
    const { answers } = await replyTo(`www.${domain}`, "A");
    expect(answers).toMatchObject([{ ttl: 120 }, { ttl: 120 }]);
  });

  test("serves the records of a domain once it is delegated, and until then they are `pending`", async () => {
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

describe("an added record", () => {
  test("shows all members, those of other types as null, and has an id of its own in the account", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    // A name that ends with a dot is a full name, so it must be in the domain. The refused request uses up no id.
    const refused = await recordsRequest(account, "POST", "", {
      domain,
      name: "WWW.",
      type: "A",
      value: " 192.0.2.1 ",
    });
    expect(refused.body.detail).toMatchObject([{ loc: ["body", "name"] }]);
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

  test("does not get the id of a deleted record", async () => {
    const account = await newAccount();
    const { name: domain } = await connected(account);
    const { id } = await addedRecord(account, { domain, ...www });
    expect((await recordsRequest(account, "DELETE", `/${id}`)).status).toBe(200);
    expect((await addedRecord(account, { domain, ...www })).id).toBe(id + 1);
    expect((await recordsRequest(account, "PATCH", `/${id}`, { ttl: 60 })).status).toBe(404);
  });

  test("finds its domain by the id, and by the name in any spelling", async () => {
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

  test("can be given with its full name, and is stored with its relative name", async () => {
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

test("a domain can have 1,000 records, and gets no record while it is `releasing`", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const add = async () => (await recordsRequest(account, "POST", "", { domain, ...www })).body;
  await setStored(account, domain, { record_count: 1_000 });
  expect(await add()).toMatchObject({ status: 409, code: "limit_reached" });
  await setStored(account, domain, { record_count: 0, is_open: false, status: "releasing" });
  expect(await add()).toMatchObject({ status: 409, code: "domain_not_ready", domain_status: "releasing" });
  expect(await ownRecords(account, domain)).toEqual([]);
});
