import { createPrivateKey, createPublicKey } from "node:crypto";

import { expect, test } from "vitest";

import { changesOf } from "../../../shared/changes/record.ts";
import { Dkim, dkimKey } from "../../../shared/domains/dkim.ts";
import { nameserversOf } from "../../../shared/domains/platform.ts";
import { delegate } from "../../../shared/providers/registrar-embedded-names.ts";
import { secretsHere } from "../../../shared/providers/secrets-here.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { dig, quicklyActive, setStored, storedAs } from "../../support/domain-work.ts";
import { active, connected, delegated, domainsRequest, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/doors.ts";
import { request } from "../../support/request.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const verify = (account: Account, name: string) => domainsRequest(account, "POST", `/${name}/verify`);

const get = async (account: Account, name: string) => (await domainsRequest(account, "GET", `/${name}`)).body;

const eventsOf = async ({ id }: Pick<Account, "id">, type: string) =>
  (
    await readEntries(
      testTable(),
      changesOf(id),
      { skip: 0, take: 100, keep: (row) => row["type"] === type },
      new Date(),
    )
  ).rows;

const keyOf = async ({ id }: Pick<Account, "id">, domainId: string): Promise<Dkim> => {
  const key = await testTable().get(dkimKey(id, domainId), Dkim);
  if (!key) throw new Error("there is no key");
  return key;
};

const elsewhere = ["ns1.other.example", "ns2.other.example"];

test("says what to do about a domain that the parent does not delegate to the account, and changes nothing", async () => {
  const account = await newAccount();
  const { name, nameservers } = await connected(account);
  const [first = "", second = ""] = nameservers;
  const before = await storedOf(account);
  const cases: [delegatedTo: string[] | undefined, observed: string[], message: string][] = [
    [undefined, [], `${name} is not registered: register it, then delegate it.`],
    [
      elsewhere,
      elsewhere,
      `At the registrar of ${name}, add ${first} and ${second} and remove ${elsewhere.join(" and ")}.`,
    ],
    [[first], [first], `At the registrar of ${name}, add ${second}.`],
    [
      [first, second, "ns1.other.example"],
      [first, second, "ns1.other.example"],
      `At the registrar of ${name}, remove ns1.other.example.`,
    ],
    [
      [...nameserversOf("another")],
      [...nameserversOf("another")],
      `At the registrar of ${name}, add ${first} and ${second} and remove`,
    ],
  ];
  for (const [to, observed, message] of cases) {
    if (to) await delegate(testTable(), name, to);
    const { status, body } = await verify(account, name);
    expect([status, body]).toEqual([
      200,
      {
        domain: name,
        verified: false,
        status: "pending_delegation",
        expected_nameservers: nameservers,
        observed_nameservers: observed.toSorted(),
        checked_at: expect.stringMatching(/Z$/),
        message: expect.stringContaining(message),
      },
    ]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("tells a domain that its parent has but does not delegate from one that is not there", async () => {
  const [parent, child] = [await newAccount(), await newAccount()];
  const { name } = await quicklyActive(parent);
  const body = { domain: name, name: "mail", type: "A", value: "192.0.2.1" };
  await request("POST", `/v1/public/accounts/${parent.id}/dns-records`, { token: parent.owner.token, body });
  const [known, unknown] = [
    await connected(child, { name: `mail.${name}` }),
    await connected(child, { name: `www.${name}` }),
  ];
  expect((await verify(child, known.name)).body.message).toContain(
    `${known.name} is not delegated: set its nameservers`,
  );
  expect((await verify(child, unknown.name)).body.message).toContain(`${unknown.name} is not registered`);
});

test("a domain of another account's can be delegated by its records", async () => {
  const [parent, child] = [await newAccount(), await newAccount()];
  const { name } = await quicklyActive(parent);
  const { name: own, nameservers } = await connected(child, { name: `mail.${name}` });
  for (const value of nameservers) {
    const body = { domain: name, name: "mail", type: "NS", value };
    await request("POST", `/v1/public/accounts/${parent.id}/dns-records`, { token: parent.owner.token, body });
  }
  expect((await verify(child, own)).body).toMatchObject({ verified: true, status: "active" });
});

test("does not conclude anything from a parent that cannot be asked, and says why", async () => {
  const [account, nobody] = [await newAccount(), await newAccount()];
  const broken = [uniqueName("lost"), uniqueName("lame")] as const;
  await delegate(testTable(), broken[0], ["ns1.nowhere.example"]);
  await delegated(nobody, broken[1]);
  const reasons = [
    `It could not be found out now: the nameservers of ${broken[0]} have no address that can be asked.`,
    `It could not be found out now: the nameservers of ${broken[1]} refuse to answer.`,
  ];
  for (const [index, parent] of broken.entries()) {
    const { name } = await connected(account, { name: `mail.${parent}` });
    const { status, body } = await verify(account, name);
    expect([status, body.verified, body.status, body.message]).toEqual([
      200,
      false,
      "pending_delegation",
      reasons[index],
    ]);
  }
});

test("makes a domain active that the parent delegates to the account alone, with exactly the system records", async () => {
  const account = await newAccount();
  const { id, name, nameservers } = await connected(account);
  await delegated(account, name);
  const { body } = await verify(account, name);
  expect(body).toMatchObject({
    verified: true,
    status: "active",
    observed_nameservers: nameservers.toSorted(),
    message: "It is delegated to us.",
  });
  const domain = await get(account, name);
  expect(domain).toMatchObject({ status: "active", outbound_routing_ready: true, dns_record_count: 7 });
  expect(domain.verified_at).toMatch(/Z$/);
  const { public_key } = await keyOf(account, id);
  const records = domain.dns_records.map(
    ({ name: owner, type, priority, value }: { name: string; type: string; priority: number | null; value: string }) =>
      [owner, type, ...(priority === null ? [] : [priority]), value].join(" "),
  );
  expect(records.toSorted()).toEqual([
    "@ MX 10 mx1.hosted-mail.example",
    "@ MX 20 mx2.hosted-mail.example",
    "@ TXT v=spf1 include:_spf.hosted-mail.example ~all",
    "_dmarc TXT v=DMARC1; p=none",
    "autoconfig CNAME autoconfig.hosted-mail.example",
    "autodiscover CNAME autodiscover.hosted-mail.example",
    `hm1._domainkey TXT v=DKIM1; k=rsa; p=${public_key}`,
  ]);
  expect(domain.dns_records.every((one: { is_system_managed: boolean }) => one.is_system_managed)).toBe(true);
  expect(await dig(name, "NS")).toEqual(nameservers.toSorted());
  expect(await dig(name, "MX")).toEqual(["10 mx1.hosted-mail.example", "20 mx2.hosted-mail.example"]);
  expect(await dig(name, "TXT")).toEqual(["v=spf1 include:_spf.hosted-mail.example ~all"]);
  expect(await dig(`hm1._domainkey.${name}`, "TXT")).toEqual([`v=DKIM1; k=rsa; p=${public_key}`]);
  expect(await dig(`_dmarc.${name}`, "TXT")).toEqual(["v=DMARC1; p=none"]);
  expect(await dig(`autodiscover.${name}`, "CNAME")).toEqual(["autodiscover.hosted-mail.example"]);
  expect(await eventsOf(account, "domain.verified")).toHaveLength(1);
});

test("signs with a key of 2,048 bits of which nothing but the public half is to be seen", async () => {
  const account = await newAccount();
  const { id, name } = await connected(account);
  await delegated(account, name);
  const answers = [await verify(account, name), await domainsRequest(account, "GET", `/${name}`)];
  const key = await keyOf(account, id);
  const pem = await secretsHere().open(key.sealed_private_key, { account_id: account.id, dkim_of: id });
  const published = createPublicKey({ key: Buffer.from(key.public_key, "base64"), format: "der", type: "spki" });
  expect([published.asymmetricKeyType, published.asymmetricKeyDetails?.modulusLength]).toEqual(["rsa", 2_048]);
  expect(createPublicKey(createPrivateKey(pem)).equals(published)).toBe(true);
  const seen = JSON.stringify([answers, (await storedOf(account)).filter(({ SK }) => !SK.startsWith("DKIM#"))]);
  const lines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
  expect(lines.length).toBeGreaterThan(10);
  // A public key has the modulus that a private one begins with: lines of the rest are what is secret.
  for (const secret of [...lines.slice(10), key.sealed_private_key, "PRIVATE KEY"]) expect(seen).not.toContain(secret);
  const kept = JSON.stringify(await testTable().getMany([dkimKey(account.id, id)]));
  for (const secret of lines.slice(10)) expect(kept).not.toContain(secret);
  await expect(secretsHere().open(key.sealed_private_key, { account_id: account.id, dkim_of: name })).rejects.toThrow();
});

test("verified again it is as it was", async () => {
  const account = await newAccount();
  const { name } = await active(account);
  const before = await storedOf(account);
  expect((await verify(account, name)).body).toMatchObject({ verified: true, status: "active" });
  expect(await storedOf(account)).toEqual(before);
});

test("many concurrent verifications make one key, one set of records and one event", async () => {
  const account = await newAccount();
  const { id, name } = await connected(account);
  await delegated(account, name);
  const answers = await Promise.all(Array.from({ length: 3 }, () => verify(account, name)));
  expect(answers.map(({ status, body }) => [status, body.verified, body.status])).toEqual(
    Array.from({ length: 3 }, () => [200, true, "active"]),
  );
  const { dns_record_count, dns_records } = await get(account, name);
  expect([dns_record_count, dns_records.length]).toEqual([7, 7]);
  const { public_key } = await keyOf(account, id);
  expect(await dig(`hm1._domainkey.${name}`, "TXT")).toEqual([`v=DKIM1; k=rsa; p=${public_key}`]);
  expect(await eventsOf(account, "domain.verified")).toHaveLength(1);
});

test("keeps records that were made before, beside the system's", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const body = { domain: name, name: "@", type: "TXT", value: "my-site-verification=1" };
  await request("POST", `/v1/public/accounts/${account.id}/dns-records`, { token: account.owner.token, body });
  expect(await dig(name, "TXT")).toBe("EREFUSED");
  await delegated(account, name);
  await verify(account, name);
  expect(await dig(name, "TXT")).toEqual(["my-site-verification=1", "v=spf1 include:_spf.hosted-mail.example ~all"]);
  expect((await get(account, name)).dns_record_count).toBe(8);
});

test("has room for the system's records in a domain that has as many as it can", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await setStored(account, name, { record_count: 1_000 });
  await delegated(account, name);
  expect((await verify(account, name)).body).toMatchObject({ verified: true, status: "active" });
  expect((await get(account, name)).dns_record_count).toBe(1_007);
});

test("a domain that lost its delegation and has it again is active at once, with the key it had", async () => {
  const account = await newAccount();
  const { id, name } = await active(account);
  const key = await keyOf(account, id);
  for (const status of ["degraded", "pending_delegation"]) {
    await setStored(account, name, { status, status_reason: "It was delegated elsewhere.", failures: 9 });
    await delegate(testTable(), name, elsewhere);
    expect((await verify(account, name)).body).toMatchObject({ verified: false, status });
    expect(await storedAs(account, name)).toMatchObject({ status, failures: 9 });
    await delegated(account, name);
    expect((await verify(account, name)).body).toMatchObject({ verified: true, status: "active" });
    expect(await storedAs(account, name)).toMatchObject({ status: "active", status_reason: null, failures: 0 });
  }
  expect(await keyOf(account, id)).toEqual(key);
  expect((await get(account, name)).dns_record_count).toBe(7);
  expect(await eventsOf(account, "domain.recovered")).toHaveLength(1);
});

test("looks for no delegation of a domain that is being registered, failed or is going away", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await delegated(account, name);
  for (const [domain_status, is_open] of [
    ["pending_registration", true],
    ["failed", false],
    ["releasing", false],
  ] as const) {
    await setStored(account, name, { status: domain_status, is_open });
    expect((await verify(account, name)).body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status });
  }
});
