import { createPrivateKey, createPublicKey } from "node:crypto";

import { expect, test } from "vitest";

import { dkimKey } from "../../../shared/domains/records/dkim-keys.ts";
import { delegate } from "../../../shared/providers/registrar/embedded-names.ts";
import { secretsHere } from "../../../shared/providers/secrets/factory.ts";
import { dig, dkimOf, setStored, storedAs } from "../../support/domain-work.ts";
import { active, connected, delegated, domainsRequest, elsewhere, readDomain, verify } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { recorded } from "../../support/recorded.ts";
import { request } from "../../support/request.ts";
import { newAccount, testTable } from "../../support/world.ts";

test("activates a domain that is delegated only to the account's nameservers, with the system records", async () => {
  const account = await newAccount();
  const { id, name, nameservers } = await connected(account);
  await delegated(account, name);
  const { body } = await verify(account, name);
  expect(body).toMatchObject({
    verified: true,
    status: "active",
    observed_nameservers: nameservers.toSorted(),
    message: "The domain is delegated to us.",
  });
  const domain = await readDomain(account, name);
  expect(domain).toMatchObject({ status: "active", outbound_routing_ready: true, dns_record_count: 7 });
  expect(domain.verified_at).toMatch(/Z$/);
  const { public_key } = await dkimOf(account, id);
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
  expect(await recorded(account, "domain.verified")).toHaveLength(1);
});

test("signs with a key of 2,048 bits, and shows only the public half of the key", async () => {
  const account = await newAccount();
  const { id, name } = await connected(account);
  await delegated(account, name);
  const answers = [await verify(account, name), await domainsRequest(account, "GET", `/${name}`)];
  const key = await dkimOf(account, id);
  const pem = await secretsHere().open(key.sealed_private_key, { account_id: account.id, dkim_of: id });
  const published = createPublicKey({ key: Buffer.from(key.public_key, "base64"), format: "der", type: "spki" });
  expect([published.asymmetricKeyType, published.asymmetricKeyDetails?.modulusLength]).toEqual(["rsa", 2_048]);
  expect(createPublicKey(createPrivateKey(pem)).equals(published)).toBe(true);
  const seen = JSON.stringify([answers, (await storedOf(account)).filter(({ SK }) => !SK.startsWith("DKIM#"))]);
  const lines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
  expect(lines.length).toBeGreaterThan(10);
  // A private key begins with the modulus, which the public key also has. The lines after the modulus are secret.
  for (const secret of [...lines.slice(10), key.sealed_private_key, "PRIVATE KEY"]) expect(seen).not.toContain(secret);
  const kept = JSON.stringify(await testTable().getMany([dkimKey(account.id, id)]));
  for (const secret of lines.slice(10)) expect(kept).not.toContain(secret);
  await expect(secretsHere().open(key.sealed_private_key, { account_id: account.id, dkim_of: name })).rejects.toThrow();
});

test("a second verification changes nothing", async () => {
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
  const { dns_record_count, dns_records } = await readDomain(account, name);
  expect([dns_record_count, dns_records.length]).toEqual([7, 7]);
  const { public_key } = await dkimOf(account, id);
  expect(await dig(`hm1._domainkey.${name}`, "TXT")).toEqual([`v=DKIM1; k=rsa; p=${public_key}`]);
  expect(await recorded(account, "domain.verified")).toHaveLength(1);
});

test("keeps the customer's records from before the activation, beside the system records", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  const body = { domain: name, name: "@", type: "TXT", value: "my-site-verification=1" };
  await request("POST", `/v1/public/accounts/${account.id}/dns-records`, { token: account.owner.token, body });
  expect(await dig(name, "TXT")).toBe("EREFUSED");
  await delegated(account, name);
  await verify(account, name);
  expect(await dig(name, "TXT")).toEqual(["my-site-verification=1", "v=spf1 include:_spf.hosted-mail.example ~all"]);
  expect((await readDomain(account, name)).dns_record_count).toBe(8);
});

test("a domain with the highest number of records still gets the system records", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await setStored(account, name, { record_count: 1_000 });
  await delegated(account, name);
  expect((await verify(account, name)).body).toMatchObject({ verified: true, status: "active" });
  expect((await readDomain(account, name)).dns_record_count).toBe(1_007);
});

test("a domain that has its delegation again is active after a verification, with the same key", async () => {
  const account = await newAccount();
  const { id, name } = await active(account);
  const key = await dkimOf(account, id);
  for (const status of ["degraded", "pending_delegation"]) {
    await setStored(account, name, { status, status_reason: "It was delegated elsewhere.", failures: 9 });
    await delegate(testTable(), name, elsewhere);
    expect((await verify(account, name)).body).toMatchObject({ verified: false, status });
    expect(await storedAs(account, name)).toMatchObject({ status, failures: 9 });
    await delegated(account, name);
    expect((await verify(account, name)).body).toMatchObject({ verified: true, status: "active" });
    expect(await storedAs(account, name)).toMatchObject({ status: "active", status_reason: null, failures: 0 });
  }
  expect(await dkimOf(account, id)).toEqual(key);
  expect((await readDomain(account, name)).dns_record_count).toBe(7);
  expect(await recorded(account, "domain.recovered")).toHaveLength(1);
});
