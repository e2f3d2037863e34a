import { expect, test } from "vitest";

import { registryPaths } from "../../../../infra/local/pages/registry.ts";
import { delegationOf } from "../../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { connected, contact, uniqueName } from "../../../support/domains.ts";
import { newAccount, testTable } from "../../../support/world.ts";
import { asking } from "../asking.ts";

let woken = 0;
const paths = registryPaths({ table: testTable(), onDelegated: () => (woken += 1) });

const send = asking(paths);

const json = "application/json";

test("delegates a connected name to the nameservers of its account, and wakes the worker", async () => {
  const domain = await connected(await newAccount());
  const before = woken;
  const answer = await send("POST", { type: json, body: JSON.stringify({ name: domain.name.toUpperCase() }) });
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ name: domain.name, nameservers: domain.nameservers });
  expect(await delegationOf(testTable(), domain.name)).toEqual(domain.nameservers);
  expect(woken).toBe(before + 1);
});

test("takes any nameservers, by a form too, and none to take a delegation away", async () => {
  const name = uniqueName();
  const form = new URLSearchParams({ name, nameservers: "ns1.example.net, NS2.example.net" });
  const answer = await send("POST", { type: "application/x-www-form-urlencoded", body: String(form) });
  expect(answer.text).toContain(`${name} is delegated to ns1.example.net and ns2.example.net.`);
  expect(JSON.parse((await send("GET", { query: `name=${name}` })).text)).toEqual({
    name,
    nameservers: ["ns1.example.net", "ns2.example.net"],
    registration: null,
  });
  await send("POST", { type: json, body: JSON.stringify({ name, nameservers: [] }) });
  expect(JSON.parse((await send("GET", { query: `name=${name}` })).text).nameservers).toEqual([]);
});

test("shows the registration of a name that was bought through the product", async () => {
  const name = uniqueName();
  await embeddedRegistrar(testTable(), () => new Date()).register({ name, contact });
  expect(JSON.parse((await send("GET", { query: `name=${name}` })).text)).toMatchObject({
    name,
    nameservers: [],
    registration: { phase: "registered", statuses: ["clientTransferProhibited"], expiresAt: expect.any(String) },
  });
});

test.each([
  ["a name that no account has", { name: uniqueName() }, 409],
  ["a name that is none", { name: "no name" }, 422],
  ["a public suffix", { name: "co.uk", nameservers: ["ns1.example.com"] }, 422],
  ["an unknown member", { name: "example.com", ns: [] }, 422],
])("refuses %s", async (_, body, status) => {
  expect((await send("POST", { type: json, body: JSON.stringify(body) })).status).toBe(status);
});

test("refuses what is no JSON, and the form of another site", async () => {
  expect((await send("POST", { type: json, body: "{" })).status).toBe(422);
  const headers = { origin: "https://evil.example" };
  expect((await send("POST", { type: json, body: "{}", headers })).status).toBe(403);
});

test("is a page that escapes what it is told", async () => {
  expect((await send("GET")).text).toContain("<form");
  const form = new URLSearchParams({ name: "<script>alert(1)</script>.com" });
  const { status, text } = await send("POST", { type: "application/x-www-form-urlencoded", body: String(form) });
  expect(status).toBe(422);
  expect(text).not.toContain("<script>");
});
