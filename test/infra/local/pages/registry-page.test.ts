import { expect, test } from "vitest";

import { registryPaths } from "../../../../infra/local/pages/registry.ts";
import { resolverHere } from "../../../../shared/dns/services.ts";
import { delegationOf } from "../../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { connected, contact, uniqueName } from "../../../support/domains.ts";
import { newAccount, testTable } from "../../../support/world.ts";
import { asking } from "../asking.ts";

let woken = 0;
const paths = registryPaths({ table: testTable(), onDelegated: () => (woken += 1) });

const send = asking(paths);

const json = "application/json";

test("the page delegates a connected name to the nameservers of its account, and wakes the worker", async () => {
  const domain = await connected(await newAccount());
  const before = woken;
  const answer = await send("POST", { type: json, body: JSON.stringify({ name: domain.name.toUpperCase() }) });
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ name: domain.name, nameservers: domain.nameservers });
  expect(await delegationOf(testTable(), domain.name)).toEqual(domain.nameservers);
  expect(woken).toBe(before + 1);
});

test("the page accepts any nameservers, also by a form, and an empty list removes the delegation", async () => {
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

test("the page publishes records of a name at another DNS host, and delegates the name there", async () => {
  const name = uniqueName();
  const records = [
    { name: "@", type: "MX", value: "mx.example.net", priority: 10 },
    { name: "www", type: "A", value: "192.0.2.1" },
  ];
  const answer = await send("POST", { type: json, body: JSON.stringify({ name, records }) });
  expect(JSON.parse(answer.text)).toMatchObject({ nameservers: ["ns1.other-dns.example", "ns2.other-dns.example"] });
  const resolver = resolverHere();
  expect(await resolver.resolve(`www.${name}`, "A")).toMatchObject({ records: [{ address: "192.0.2.1" }] });
  expect(await resolver.resolve(name, "MX")).toMatchObject({ records: [{ priority: 10, host: "mx.example.net" }] });
  await send("POST", { type: json, body: JSON.stringify({ name, records: records.slice(0, 1) }) });
  expect(await resolver.resolve(`www.${name}`, "A")).toEqual({ status: "absent" });
  const wrong = [{ name: "www", type: "A", value: "300.0.2.1" }];
  const other = uniqueName();
  await send("POST", { type: json, body: JSON.stringify({ name: other, elsewhere: true, records }) });
  expect(await resolver.resolve(other, "MX")).toMatchObject({ records: [{ priority: 10, host: "mx.example.net" }] });
  const refused = await send("POST", { type: json, body: JSON.stringify({ name, records: wrong }) });
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("www A")]);
});

test("the page shows the registration of a name that was bought through the product", async () => {
  const name = uniqueName();
  await embeddedRegistrar(testTable(), () => new Date()).register({ name, contact });
  expect(JSON.parse((await send("GET", { query: `name=${name}` })).text)).toMatchObject({
    name,
    nameservers: [],
    registration: { phase: "registered", statuses: ["clientTransferProhibited"], expiresAt: expect.any(String) },
  });
});

test("the page registers a name at another registrar, and returns the auth code for its transfer, also by a form", async () => {
  const name = uniqueName();
  const body = { name, elsewhere: true, nameservers: ["ns1.example.net"], registered_at: "2026-01-02T03:04:05.006Z" };
  const answer = await send("POST", { type: json, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
  const { auth_code, ...told } = JSON.parse(answer.text);
  expect(told).toMatchObject({ name, nameservers: ["ns1.example.net"] });
  const registrar = embeddedRegistrar(testTable(), () => new Date("2026-02-01T00:00:00.000Z"));
  const offer = { status: "too_soon", transferableAt: "2026-03-03T03:04:05.006Z" };
  expect(await registrar.transferOffer(name, auth_code)).toMatchObject(offer);

  const form = new URLSearchParams({ name, elsewhere: "true", auth_code: "chosen", nameservers: "", locked: "on" });
  const page = await send("POST", { type: "application/x-www-form-urlencoded", body: String(form) });
  expect(page.text).toContain("The auth code for its transfer is chosen.");
  expect(await registrar.transferOffer(name, "chosen")).toMatchObject({ status: "locked" });
  expect(await delegationOf(testTable(), name)).toEqual(["ns1.example.net"]);
});

test.each([
  ["2026-01-02T03:04:05Z", "2026-03-03T03:04:05.000Z"],
  ["2026-01-02T03:04:05.6+02:00", "2026-03-03T01:04:05.600Z"],
])("the page takes the time %s, at which the name was registered elsewhere", async (registered_at, transferableAt) => {
  const body = { name: uniqueName(), elsewhere: true, auth_code: "chosen", registered_at };
  expect((await send("POST", { type: json, body: JSON.stringify(body) })).status).toBe(200);
  const registrar = embeddedRegistrar(testTable(), () => new Date("2026-02-01T00:00:00.000Z"));
  expect(await registrar.transferOffer(body.name, "chosen")).toMatchObject({ status: "too_soon", transferableAt });
});

test.each(["2026-01-02", "soon", "0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])(
  "the page refuses the time %j",
  async (registered_at) => {
    const body = { name: uniqueName(), elsewhere: true, registered_at };
    const { status, text } = await send("POST", { type: json, body: JSON.stringify(body) });
    expect([status, text]).toEqual([422, expect.stringContaining("registered_at")]);
  },
);

test("the page moves a name that was bought through the product to another registrar, only with its auth code", async () => {
  const name = uniqueName();
  const start = new Date(Date.now() - 61 * 86_400_000);
  const registrar = embeddedRegistrar(testTable(), () => start);
  await registrar.register({ name, contact });
  await registrar.setLock(name, false);
  const auth_code = await registrar.authCode(name);
  const take = (body: object) => send("POST", { type: json, body: JSON.stringify({ name, elsewhere: true, ...body }) });
  expect((await take({})).status).toBe(409);
  expect((await take({ auth_code })).status).toBe(200);
  expect(await embeddedRegistrar(testTable(), () => new Date()).registration(name)).toBeUndefined();
});

test.each([
  ["a lock without a registration elsewhere", { name: "example.com", locked: true }, 422],
  ["a name that no account has", { name: uniqueName() }, 409],
  ["a text that is no name", { name: "no name" }, 422],
  ["a public suffix", { name: "co.uk", nameservers: ["ns1.example.com"] }, 422],
  ["an unknown member", { name: "example.com", ns: [] }, 422],
])("the page refuses %s", async (_, body, status) => {
  expect((await send("POST", { type: json, body: JSON.stringify(body) })).status).toBe(status);
});

test("the page refuses a body that is no JSON, and a form from another site", async () => {
  expect((await send("POST", { type: json, body: "{" })).status).toBe(422);
  const headers = { origin: "https://evil.example" };
  expect((await send("POST", { type: json, body: "{}", headers })).status).toBe(403);
});

test("the page shows a refused form again with its values, and marks the field with the mistake", async () => {
  const form = new URLSearchParams({ name: "no name", elsewhere: "true", auth_code: "a&b", locked: "on" });
  const { text } = await send("POST", { type: "application/x-www-form-urlencoded", body: String(form) });
  expect(text).toContain('role="alert"');
  expect(text).toContain('name="auth_code" placeholder="a random one" value="a&amp;b"');
  expect(text).toContain('name="locked" checked');
  expect(text.match(/<input [^>]*value="no name"[^>]*>/g)).toEqual([
    '<input name="name" required placeholder="example.com" value="no name" aria-invalid="true" aria-describedby="name-fault" autofocus />',
  ]);
  expect(text).toContain('<p class="fault" id="name-fault">A name cannot have spaces</p>');
  const missing = new URLSearchParams({ name: uniqueName(), nameservers: "" });
  const refused = await send("POST", { type: "application/x-www-form-urlencoded", body: String(missing) });
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(`value="${missing.get("name")}"`)]);
  expect((await send("GET")).text).not.toContain('aria-invalid="true"');
});

test("the page escapes the texts of a request", async () => {
  expect((await send("GET")).text).toContain("<form");
  const form = new URLSearchParams({ name: "<script>alert(1)</script>.com" });
  const { status, text } = await send("POST", { type: "application/x-www-form-urlencoded", body: String(form) });
  expect(status).toBe(422);
  expect(text).not.toContain("<script>");
});
