import { expect, test } from "vitest";

import { registryPaths } from "../../../../infra/local/pages/registry.ts";
import { reversePaths } from "../../../../infra/local/pages/reverse-dns.ts";
import { forwardConfirmed, reverseName } from "../../../../shared/dns/reverse.ts";
import { resolverHere } from "../../../../shared/dns/services.ts";
import { addedRecord } from "../../../support/dns-records.ts";
import { dig, quicklyActive, write } from "../../../support/domain-work.ts";
import { uniqueName } from "../../../support/domains.ts";
import { publicIp, reverseDns } from "../../../support/reverse-dns.ts";
import { newAccount, testTable } from "../../../support/world.ts";
import { asking } from "../asking.ts";

let woken = 0;
const paths = reversePaths({ table: testTable(), onChanged: () => (woken += 1) });

const send = asking(paths);

const post = async (body: unknown): Promise<{ status: number; body: unknown }> => {
  const { status, text } = await send("POST", { type: "application/json", body: JSON.stringify(body) });
  return { status, body: JSON.parse(text) };
};
const shown = async (ip: string): Promise<unknown> => JSON.parse((await send("GET", { query: `ip=${ip}` })).text);
const state = (ip: string) => forwardConfirmed(resolverHere(), ip);
const txtAt = (name: string) => resolverHere().resolve(`_setup.${name}`, "TXT");

test.each([4, 6] as const)(
  "the page gives an IPv%s address a name that the resolver confirms, and wakes the workers",
  async (family) => {
    const [ip, rdns, before] = [publicIp(family), `mail.${uniqueName()}`, woken];
    expect(await post({ ip: ip.toUpperCase(), rdns: `${rdns.toUpperCase()}.`, forward: true, txt: "abc" })).toEqual({
      status: 200,
      body: {
        message: `The name of ${ip} is ${rdns}, and ${rdns} resolves to ${ip}.`,
        ip,
        rdns,
        forward: true,
        txt: "abc",
      },
    });
    expect(await shown(ip)).toEqual({ ip, rdns, forward: true, txt: "abc" });
    expect(await state(ip)).toMatchObject({ status: "confirmed", rdns });
    expect(await txtAt(rdns)).toMatchObject({ status: "found", records: [{ text: "abc" }] });
    expect(woken).toBe(before + 1);
  },
);

test("the page can set the PTR record alone, and can remove the name again", async () => {
  const [ip, rdns] = [publicIp(), `mail.${uniqueName()}`];
  await post({ ip, rdns });
  expect(await shown(ip)).toEqual({ ip, rdns, forward: false, txt: null });
  expect(await state(ip)).toMatchObject({ status: "unconfirmed", rdns });
  expect((await post({ ip, rdns: null })).body).toMatchObject({ message: `${ip} has no name.` });
  expect(await state(ip)).toMatchObject({ status: "unconfirmed", rdns: null });
});

test("a name can lead to several addresses, and leads no longer to an address that got another name", async () => {
  const [one, other, six, name] = [publicIp(), publicIp(), publicIp(6), `mail.${uniqueName()}`];
  for (const ip of [one, other, six]) await post({ ip, rdns: name, forward: true, txt: "shared" });
  await post({ ip: one, rdns: `other.${name}`, forward: true });
  expect(await resolverHere().resolve(name, "A")).toMatchObject({ records: [{ address: other }] });
  expect(await resolverHere().resolve(name, "AAAA")).toMatchObject({ records: [{ address: six }] });
  expect([await state(one), await state(other), await state(six)]).toMatchObject([
    { status: "confirmed", rdns: `other.${name}` },
    { status: "confirmed", rdns: name },
    { status: "confirmed", rdns: name },
  ]);
  expect(await txtAt(name)).toMatchObject({ records: [{ text: "shared" }] });
});

test("the page keeps the TXT text if the request has no text, and removes it if the text is empty", async () => {
  const [ip, rdns] = [publicIp(), `mail.${uniqueName()}`];
  await reverseDns(ip, rdns, { forward: true, txt: "first" });
  await reverseDns(ip, rdns, { forward: true });
  expect(await txtAt(rdns)).toMatchObject({ records: [{ text: "first" }] });
  await post({ ip, rdns, forward: true, txt: "" });
  expect(await shown(ip)).toEqual({ ip, rdns, forward: true, txt: null });
  expect(await txtAt(rdns)).toEqual({ status: "absent" });
});

test("after a name is removed, no row of it is left", async () => {
  const [ip, rdns] = [publicIp(), `mail.${uniqueName()}`];
  await reverseDns(ip, rdns, { forward: true, txt: "text" });
  await reverseDns(ip, null);
  await reverseDns(ip, null);
  const keys = [
    { PK: `PTR#${ip}`, SK: "PTR" },
    { PK: `RDNS#${rdns}`, SK: "PTR" },
  ];
  expect(await testTable().getMany(keys)).toEqual([undefined, undefined]);
});

test("an address of the operator's stock has the name from the stock, except while another name is set", async () => {
  const [ip, rdns, other] = [publicIp(), `mail1.${uniqueName("ips")}`, `mail.${uniqueName()}`];
  await write({ put: { PK: `IP#${ip}`, SK: "HOLDER", ip, rdns } });
  await write({ put: { PK: `RDNS#${rdns}`, SK: "HOLDER", ip } });
  expect(await state(ip)).toMatchObject({ status: "confirmed", rdns });
  expect(await shown(ip)).toEqual({ ip, rdns, forward: true, txt: null });
  await reverseDns(ip, other);
  expect(await state(ip)).toMatchObject({ status: "unconfirmed", rdns: other });
  await reverseDns(ip, null);
  expect(await state(ip)).toMatchObject({ status: "confirmed", rdns });
});

test("an address that a customer's own host holds has no name by default", async () => {
  const ip = publicIp();
  await write({ put: { PK: `IP#${ip}`, SK: "HOLDER", account_id: "someone" } });
  expect(await state(ip)).toMatchObject({ status: "unconfirmed", rdns: null });
});

test("for a name in a domain that is hosted here, the records of the domain count, and not the page", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const [ip, rdns] = [publicIp(), `mail.${name}`];
  await reverseDns(ip, rdns, { forward: true, txt: "said" });
  expect(await state(ip)).toMatchObject({ status: "unconfirmed", rdns });
  expect(await txtAt(rdns)).toEqual({ status: "absent" });
  await addedRecord(account, { domain: name, name: "mail", type: "A", value: ip });
  expect(await state(ip)).toMatchObject({ status: "confirmed", rdns });
});

test("the local nameservers answer for the address and for its name", async () => {
  const [ip, rdns] = [publicIp(), `mail.${uniqueName()}`];
  const before = await dig(rdns, "A");
  await reverseDns(ip, rdns, { forward: true, txt: "abc" });
  expect([before, await dig(rdns, "A"), await dig(`_setup.${rdns}`, "TXT")]).toEqual(["EREFUSED", [ip], ["abc"]]);
  expect(await dig(reverseName(ip), "PTR")).toEqual([rdns]);
});

test("four addresses that get the same name at the same time all keep the name", async () => {
  const [ips, name] = [Array.from({ length: 4 }, () => publicIp()), `mail.${uniqueName()}`];
  await Promise.all(ips.map((ip) => reverseDns(ip, name, { forward: true })));
  const answer = await resolverHere().resolve(name, "A");
  const found =
    answer.status === "found" ? answer.records.flatMap((one) => ("address" in one ? [one.address] : [])) : [];
  expect(found.toSorted()).toEqual(ips.toSorted());
});

test("the registry page has a form for the name of an address, in which an empty text changes nothing", async () => {
  const [ip, rdns] = [publicIp(), `mail.${uniqueName()}`];
  const form = (fields: Record<string, string>) =>
    send("POST", { type: "application/x-www-form-urlencoded", body: String(new URLSearchParams(fields)) });
  await form({ ip, rdns, forward: "on", txt: "kept" });
  const { status, text } = await form({ ip, rdns, forward: "on", txt: "" });
  expect(status).toBe(200);
  expect(text).toContain(`The name of ${ip} is ${rdns}, and ${rdns} resolves to ${ip}.`);
  expect(await shown(ip)).toEqual({ ip, rdns, forward: true, txt: "kept" });
  await form({ ip, rdns: "" });
  expect(await shown(ip)).toEqual({ ip, rdns: null, forward: false, txt: null });
  const page = registryPaths({ table: testTable(), onDelegated: () => {} }).find(({ method }) => method === "GET");
  const request = { params: {}, query: new URLSearchParams(), headers: new Map(), body: Buffer.alloc(0), port: 8080 };
  expect((await page?.handle(request))?.body.toString()).toContain('action="/_local/registry/reverse"');
});

test.each<[what: string, body: unknown]>([
  ["no address", { ip: "mail.example.com", rdns: "mail.example.com" }],
  ["an address with a zone", { ip: "fe80::1%eth0", rdns: null }],
  ["a text that is no name", { ip: "45.0.0.1", rdns: "<script>" }],
  ["an address in place of a name", { ip: "45.0.0.1", rdns: "45.0.0.2" }],
  ["an unknown member", { ip: "45.0.0.1", rdns: null, name: "x" }],
  ["a missing name", { ip: "45.0.0.1" }],
])("the page refuses %s", async (_, body) => {
  expect((await post(body)).status).toBe(422);
});

test("the page refuses a body that is no JSON, a form from another site, and a text that is no address", async () => {
  expect((await send("POST", { type: "application/json", body: "{" })).status).toBe(422);
  const headers = { origin: "https://evil.example" };
  expect((await send("POST", { type: "application/json", body: "{}", headers })).status).toBe(403);
  expect((await send("GET", { query: "ip=localhost" })).status).toBe(422);
});

test("the resolver finds the PTR record at the reverse name of an address, and no TXT record there", async () => {
  const [ip, rdns] = [publicIp(6), `mail.${uniqueName()}`];
  await reverseDns(ip, rdns);
  expect(await resolverHere().resolve(reverseName(ip), "PTR")).toMatchObject({ records: [{ host: rdns }] });
  expect(await resolverHere().resolve(reverseName(ip), "TXT")).toEqual({ status: "none" });
});
