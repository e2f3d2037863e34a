import { expect, test } from "vitest";

import { publishRecords } from "../../../../infra/local/dns/external.ts";
import { advanceDkim } from "../../../../shared/domains/dkim/advance.ts";
import type { RecordInput } from "../../../../shared/domains/records/record.ts";
import { delegate } from "../../../../shared/providers/registrar/embedded-names.ts";
import { quicklyActive, storedAs, workAt } from "../../../support/domain-work.ts";
import { connected, delegated, domainsRequest, elsewhere, verify } from "../../../support/domains.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { externalDomain, publish } from "../../../support/external.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

type Shown = { purpose: string; name: string; value: string; status: string; observed: string[]; message: string };

const setupOf = async (account: Account, name: string) => {
  const { status, body } = await domainsRequest(account, "GET", `/${name}/dns-setup`);
  expect(status).toBe(200);
  return body as { is_complete: boolean; records: Shown[] };
};

/** The records of one purpose. */
const purposeOf = async (account: Account, name: string, purpose: string): Promise<Shown[]> =>
  (await setupOf(account, name)).records.filter((record) => record.purpose === purpose);

const txt = (name: string, value: string): RecordInput => ({ name, type: "TXT", value });

test("lists every record of an external domain before it is proved, and writes nothing", async () => {
  const account = await newAccount();
  const { name, records } = await externalDomain(account);
  const before = await storedOf(account);
  const { body } = await domainsRequest(account, "GET", `/${name}/dns-setup`);
  expect(body).toMatchObject({ domain: name, dns_mode: "external", is_complete: false });
  const missing = { status: "missing", observed: [], published_by: "customer" };
  expect(body.records).toMatchObject([
    {
      purpose: "proof",
      type: "TXT",
      name: "_hosted-mail",
      full_name: `_hosted-mail.${name}`,
      required: true,
      ...missing,
    },
    { purpose: "mx", name: "@", full_name: name, value: "mx1.hosted-mail.example", priority: 10, required: true },
    { purpose: "mx", value: "mx2.hosted-mail.example", priority: 20, ...missing },
    { purpose: "spf", value: records.spf[0]?.value, priority: null, required: true, ...missing },
    { purpose: "dkim", name: "hm1._domainkey", value: records.dkim[0]?.value, required: true, ...missing },
    { purpose: "dmarc", value: "v=DMARC1; p=none", required: false, ...missing },
    { purpose: "autoconfig", type: "CNAME", value: "autoconfig.hosted-mail.example", required: false, ...missing },
    { purpose: "autodiscover", value: "autodiscover.hosted-mail.example", required: false, ...missing },
  ]);
  expect(await storedOf(account)).toEqual(before);
});

test("shows each record as `ok` once it is published, and is complete with the required records", async () => {
  const account = await newAccount();
  const { name, records } = await externalDomain(account);
  const published: RecordInput[] = [];
  for (const purpose of ["proof", "mx", "spf", "dkim"] as const) {
    expect((await setupOf(account, name)).is_complete).toBe(false);
    published.push(...records[purpose]);
    await publish(name, published);
    for (const { status } of await purposeOf(account, name, purpose)) expect(status).toBe("ok");
  }
  const { is_complete, records: shown } = await setupOf(account, name);
  expect([is_complete, shown.filter(({ status }) => status === "missing").map(({ purpose }) => purpose)]).toEqual([
    true,
    ["dmarc", "autoconfig", "autodiscover"],
  ]);
});

test("each of the MX records has a status and a message of its own", async () => {
  const account = await newAccount();
  const { name } = await externalDomain(account);
  const host = "mx2.hosted-mail.example";
  await publish(name, [{ name: "@", type: "MX", value: host, priority: 20 }]);
  expect(await purposeOf(account, name, "mx")).toMatchObject([
    { status: "different", message: "Mail does not go to mx1.hosted-mail.example." },
    { value: host, status: "ok", message: "The record is correct." },
  ]);
});

test.each([
  ["v=spf1 include:_spf.google.com -all", "v=spf1 include:_spf.google.com include:_spf.hosted-mail.example -all"],
  ["v=spf1 a mx", "v=spf1 a mx include:_spf.hosted-mail.example"],
  ["v=spf1 -all", "v=spf1 include:_spf.hosted-mail.example -all"],
  ["v=spf1 redirect=_spf.other.example", "v=spf1 include:_spf.hosted-mail.example redirect=_spf.other.example"],
  ["V=SPF1  ip4:192.0.2.1 ?all", "V=SPF1 ip4:192.0.2.1 include:_spf.hosted-mail.example ?all"],
])("adds our `include` to the present SPF record of the name: %s", async (present, value) => {
  const account = await newAccount();
  const { name } = await externalDomain(account);
  await publish(name, [txt("@", present), txt("@", "google-site-verification=abc")]);
  expect(await purposeOf(account, name, "spf")).toMatchObject([{ status: "different", observed: [present], value }]);
  await publish(name, [txt("@", value)]);
  const [shown] = await purposeOf(account, name, "spf");
  expect(shown?.observed).toEqual([value]);
  // The record can have another fault, such as an include without an SPF record. Then its value is shown unchanged.
  const expected = shown?.status === "ok" ? "v=spf1 include:_spf.hosted-mail.example ~all" : value;
  expect(["ok", "different"]).toContain(shown?.status);
  expect(shown?.value).toBe(expected);
});

test("moves our `include` in front of `all`, because receivers ignore what stands after `all`", async () => {
  const account = await newAccount();
  const { name } = await externalDomain(account);
  const present = "v=spf1 mx ~all include:_spf.hosted-mail.example exp=why.other.example";
  await publish(name, []);
  await publishRecords(testTable(), name, [{ name: "@", type: "TXT", value: present, ttl: 60 }]);
  const value = "v=spf1 mx include:_spf.hosted-mail.example ~all exp=why.other.example";
  expect(await purposeOf(account, name, "spf")).toMatchObject([{ status: "different", observed: [present], value }]);
});

test("makes one SPF record of several, and warns if it needs more than 10 look-ups", async () => {
  const account = await newAccount();
  const { name } = await externalDomain(account);
  const many = Array.from({ length: 10 }, (_, index) => `a:h${index}.${name}`).join(" ");
  const hosts = Array.from({ length: 10 }, (_, index) => ({
    name: `h${index}`,
    type: "A" as const,
    value: "192.0.2.1",
  }));
  await publish(name, [txt("@", "v=spf1 ip4:192.0.2.1 -all"), txt("@", `v=spf1 ${many} ~all`), ...hosts]);
  const [spf] = await purposeOf(account, name, "spf");
  expect(spf).toMatchObject({
    status: "different",
    value: `v=spf1 ip4:192.0.2.1 ${many} include:_spf.hosted-mail.example -all`,
  });
  expect(spf?.message).toContain("The SPF record needs more than 10 DNS look-ups");
});

test("shows the records that conflict with ours, and accepts a DMARC policy of the customer", async () => {
  const account = await newAccount();
  const { name } = await externalDomain(account);
  await publish(name, [
    { name: "@", type: "MX", value: "mx.former.example", priority: 5 },
    txt("_hosted-mail", "something else"),
    txt("hm1._domainkey", "v=DKIM1; k=rsa; p="),
    txt("_dmarc", "v=DMARC1; p=reject; rua=mailto:reports@example.net"),
    { name: "autoconfig", type: "CNAME", value: "autoconfig.former.example" },
  ]);
  const { records } = await setupOf(account, name);
  const seen = records.map(({ purpose, status, observed }) => [purpose, status, ...observed]);
  expect(seen).toEqual([
    ["proof", "different", "something else"],
    ["mx", "different", "5 mx.former.example"],
    ["mx", "different", "5 mx.former.example"],
    ["spf", "missing"],
    ["dkim", "different", "v=DKIM1; k=rsa; p="],
    ["dmarc", "ok", "v=DMARC1; p=reject; rua=mailto:reports@example.net"],
    ["autoconfig", "different", "autoconfig.former.example"],
    ["autodiscover", "missing"],
  ]);
});

test.each([
  ["an invalid DMARC record", ["v=DMARC1; p=maybe"], "another value"],
  ["two DMARC records", ["v=DMARC1; p=none", "v=DMARC1; p=reject"], "Keep one"],
])("shows %s as `different`, and says what is wrong", async (_, values, fault) => {
  const account = await newAccount();
  const { name } = await externalDomain(account);
  await publish(name, []);
  // `publish` would refuse an invalid record.
  const records = values.map((value) => ({ name: "_dmarc", type: "TXT" as const, value, ttl: 300 }));
  await publishRecords(testTable(), name, records);
  expect(await purposeOf(account, name, "dmarc")).toMatchObject([
    { status: "different", message: expect.stringContaining(fault) },
  ]);
});

test("shows our MX records as `ok` beside another MX record, and says where mail also goes", async () => {
  const account = await newAccount();
  const { name, records } = await externalDomain(account);
  const other = { name: "@", type: "MX", value: "mx.former.example", priority: 5 } as const;
  await publish(name, [...records.mx, other]);
  const seen = (await purposeOf(account, name, "mx")).map(({ status, message }) => [status, message]);
  const right = ["ok", "Mail also goes to mx.former.example."];
  expect(seen).toEqual([right, right]);
});

test("asks the customer of a hosted domain for its nameservers only", async () => {
  const account = await newAccount();
  const { name, nameservers } = await connected(account);
  const [first, second] = nameservers;
  const askedOfCustomer = async () => {
    const { records } = await setupOf(account, name);
    return records.filter((record) => "published_by" in record && record.published_by === "customer");
  };
  expect(await askedOfCustomer()).toMatchObject([
    { purpose: "ns", type: "NS", value: first, required: true, status: "missing" },
    { purpose: "ns", type: "NS", value: second, status: "missing" },
  ]);
  expect(await purposeOf(account, name, "dkim")).toMatchObject([{ value: null, status: "missing" }]);
  await delegate(testTable(), name, elsewhere);
  expect(await askedOfCustomer()).toMatchObject([
    { status: "different", observed: elsewhere },
    { status: "different", observed: elsewhere },
  ]);
  await delegate(testTable(), name, [first ?? ""]);
  expect(await askedOfCustomer()).toMatchObject([{ status: "ok" }, { status: "different" }]);
  await delegated(account, name);
  expect(await askedOfCustomer()).toMatchObject([{ status: "ok" }, { status: "ok" }]);
});

test("shows all records of an active hosted domain as `ok`", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const { is_complete, records } = await setupOf(account, name);
  expect([is_complete, records.map(({ status }) => status)]).toEqual([true, Array(9).fill("ok")]);
});

test("shows the records as `unknown` if the nameserver does not answer", async () => {
  const account = await newAccount();
  const { name } = await externalDomain(account);
  const namesOf = ({ records }: Awaited<ReturnType<typeof setupOf>>) => records.map((record) => record.name);
  const before = namesOf(await setupOf(account, name));
  await delegate(testTable(), name, ["ns1.nowhere.example"]);
  const setup = await setupOf(account, name);
  const { is_complete, records } = setup;
  expect(is_complete).toBe(false);
  expect(namesOf(setup)).toEqual(before);
  for (const { status, message } of records) {
    expect(status).toBe("unknown");
    expect(message).toContain("could not be checked");
  }
});

test("has no value for the DKIM record of a hosted domain before its key is made, also if the DNS does not answer", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await delegate(testTable(), name, ["ns1.nowhere.example"]);
  const message = expect.stringContaining("could not be checked");
  expect(await purposeOf(account, name, "dkim")).toMatchObject([{ value: null, status: "unknown", message }]);
});

test("lists the records of both keys while the key of an external domain is rotated", async () => {
  const account = await newAccount();
  const { name, records } = await externalDomain(account);
  const { proof, spf, dkim } = records;
  await publish(name, [...proof, ...spf, ...dkim]);
  await verify(account, name);
  await domainsRequest(account, "POST", `/${name}/dkim/rotate`);
  const [next] = await purposeOf(account, name, "dkim_next");
  expect(next).toMatchObject({ name: "hm2._domainkey", required: false, status: "missing" });
  expect(await purposeOf(account, name, "dkim")).toMatchObject([{ status: "ok" }]);
  await publish(name, [...proof, ...spf, ...dkim, txt("hm2._domainkey", next?.value ?? "")]);
  expect(await purposeOf(account, name, "dkim_next")).toMatchObject([{ status: "ok" }]);
  const { id, dkim: state } = await storedAs(account, name);
  await advanceDkim(account.id, id, state?.due_at ?? "", workAt(new Date()));
  expect(await purposeOf(account, name, "dkim_former")).toMatchObject([
    { name: "hm1._domainkey", status: "ok", message: expect.stringContaining("on its way") },
  ]);
});
