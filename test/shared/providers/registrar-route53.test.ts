import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

import { beforeEach, expect, test, vi } from "vitest";

import { Problem } from "../../../shared/errors.ts";
import { route53Registrar, type Route53RegistrarOptions } from "../../../shared/providers/registrar-route53.ts";
import { Refused, type Contact, type Registrar } from "../../../shared/providers/registrar.ts";
import { newDomain, refusal, startDomains, type DomainsService } from "./domains-service.ts";
import type { Fault } from "./loopback.ts";

const name = "example.com";
const contact: Contact = {
  first_name: "Ada",
  last_name: "Lovelace",
  organization: "",
  email: "ada@example.net",
  phone: "+15555550100",
  address_1: "1 Main Street",
  city: "Springfield",
  state: "IL",
  zip: "62701",
  country: "US",
};
const input = { name, contact, autoRenew: false };
const since = new Date("2026-01-02T03:04:05Z");

beforeEach(() => {
  vi.stubEnv("AWS_REGION", "eu-central-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKID");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  return () => vi.unstubAllEnvs();
});

type Scene = DomainsService & { registrar: Registrar };

async function scene(troubles: Fault[] = [], options: Route53RegistrarOptions = {}): Promise<Scene> {
  const service = await startDomains(...troubles);
  return { ...service, registrar: route53Registrar({ endpoint: service.url, timeoutMs: 150, ...options }) };
}

const callsOf = ({ recorded }: Scene): string[] =>
  recorded.map(({ headers }) => String(headers["x-amz-target"]).replace("Route53Domains_v20140515.", ""));
const bodyOf = ({ recorded }: Scene, index: number): unknown => JSON.parse(recorded.at(index)?.body ?? "null");

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "nothing",
    (error: unknown) => error,
  );
const unavailable = { code: "upstream_unavailable", status: 503, extras: { retry_after: 10 } };

test("every request is AWS JSON 1.1, signed with SigV4 for us-east-1 wherever we are", async () => {
  const { registrar, recorded } = await scene();
  await registrar.registration(name);
  expect(recorded).toMatchObject([
    {
      method: "POST",
      path: "/",
      headers: {
        "content-type": "application/x-amz-json-1.1",
        "x-amz-target": "Route53Domains_v20140515.GetDomainDetail",
        authorization: expect.stringMatching(
          /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/us-east-1\/route53domains\/aws4_request, SignedHeaders=\S*x-amz-target\S*, Signature=[0-9a-f]{64}$/,
        ),
      },
      body: '{"DomainName":"example.com"}',
    },
  ]);
});

test.each([
  ["AVAILABLE", "available"],
  ["AVAILABLE_PREORDER", "unavailable"],
  ["AVAILABLE_RESERVED", "reserved"],
  ["RESERVED", "reserved"],
  ["UNAVAILABLE", "unavailable"],
  ["UNAVAILABLE_PREMIUM", "premium"],
  ["UNAVAILABLE_RESTRICTED", "reserved"],
  ["INVALID_NAME_FOR_TLD", "invalid"],
  ["DONT_KNOW", "unknown"],
  ["PENDING", "unknown"],
  ["SOMETHING_NEW", "unknown"],
])("%s is an offer that is %s", async (given, status) => {
  const one = await scene();
  one.availability.set(name, given);
  const prices = status === "available" ? { price: 1_400, renewalPrice: 1_310 } : {};
  expect(await one.registrar.offer(name)).toEqual({ name, status, ...prices });
});

test.each([
  ["example.test", "unsupported_tld"],
  ["localhost", "invalid"],
])("%s is %s", async (name, status) => {
  expect(await (await scene()).registrar.offer(name)).toEqual({ name, status });
});

test("a registry in maintenance is unknown", async () => {
  const one = await scene();
  await one.registrar.offer("other.com");
  one.troubles.push(refusal("TLDInMaintenance"));
  expect(await one.registrar.offer(name)).toEqual({ name, status: "unknown" });
});

test.each([
  ["9.99", "USD", 999],
  ["12", "USD", 1_200],
  ["0.1", "USD", 10],
  ["1234567.89", "USD", 123_456_789],
  ["9.999", "USD", undefined],
  ["9.99", "EUR", undefined],
])("a price of %s %s is %s minor units", async (price, Currency, minor) => {
  const one = await scene();
  const amount = { Price: Number(price), Currency };
  one.prices.push({ Name: "dev", RegistrationPrice: amount, RenewalPrice: amount });
  const expected = minor === undefined ? {} : { price: minor, renewalPrice: minor };
  expect(await one.registrar.offer("example.dev")).toEqual({ name: "example.dev", status: "available", ...expected });
});

test("the prices of a top-level domain are asked for once in an hour, by many at once too, and not kept of a failure", async () => {
  let now = since;
  const one = await scene([], { now: () => now });
  const names = ["a.com", "b.com", "c.co.uk", "d.com"];
  await Promise.all(names.map((each) => one.registrar.offer(each)));
  const asked = (): unknown[] =>
    one.recorded.filter((_, index) => callsOf(one)[index] === "ListPrices").map(({ body }) => JSON.parse(body));
  expect(asked()).toEqual([{ Tld: "com" }, { Tld: "co.uk" }]);
  now = new Date(since.getTime() + 3_600_000);
  await one.registrar.offer("b.com");
  expect(asked()).toHaveLength(3);
  one.troubles.push(refusal("AccessDenied"));
  await thrownBy(one.registrar.tlds());
  expect(await one.registrar.tlds()).toEqual(["co.uk", "com"]);
});

test("the top-level domains are all that have a price, asked for once in an hour", async () => {
  const one = await scene();
  for (let n = 0; n < 250; n++) {
    const amount = { Price: 1, Currency: "USD" };
    one.prices.push({ Name: `tld${n}`, RegistrationPrice: amount, RenewalPrice: amount });
  }
  const tlds = await one.registrar.tlds();
  expect(tlds).toHaveLength(252);
  expect(tlds).toEqual(expect.arrayContaining(["com", "co.uk", "tld249"]));
  await one.registrar.tlds();
  expect(one.recorded.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { MaxItems: 100 },
    { MaxItems: 100, Marker: "100" },
    { MaxItems: 100, Marker: "200" },
  ]);
});

test("a name is registered for one year, with one contact for all, who is not shown", async () => {
  const one = await scene();
  expect(await one.registrar.register(input)).toEqual({ id: "operation-1", state: "running" });
  const detail = {
    FirstName: "Ada",
    LastName: "Lovelace",
    ContactType: "PERSON",
    AddressLine1: "1 Main Street",
    City: "Springfield",
    State: "IL",
    CountryCode: "US",
    ZipCode: "62701",
    PhoneNumber: "+1.5555550100",
    Email: "ada@example.net",
  };
  expect(bodyOf(one, 0)).toEqual({
    DomainName: name,
    DurationInYears: 1,
    AutoRenew: false,
    AdminContact: detail,
    RegistrantContact: detail,
    TechContact: detail,
    BillingContact: detail,
    PrivacyProtectAdminContact: true,
    PrivacyProtectRegistrantContact: true,
    PrivacyProtectTechContact: true,
    PrivacyProtectBillingContact: true,
  });
});

test("an organization is a company; a state that is not there is not sent", async () => {
  const one = await scene();
  const company = { ...contact, organization: "Analytical Engines", state: "", country: "GB" };
  await one.registrar.register({ ...input, contact: company });
  expect(bodyOf(one, 0)).toMatchObject({
    RegistrantContact: { ContactType: "COMPANY", OrganizationName: "Analytical Engines", CountryCode: "GB" },
  });
  expect(bodyOf(one, 0)).not.toHaveProperty("RegistrantContact.State");
});

test.each([
  ["+15555550100", "+1.5555550100"],
  ["+442079460000", "+44.2079460000"],
  ["+35312345678", "+353.12345678"],
  ["+390612345678", "+39.0612345678"],
  ["+77012345678", "+7.7012345678"],
])("the phone number %s is written %s", async (phone, written) => {
  const one = await scene();
  await one.registrar.register({ ...input, contact: { ...contact, phone } });
  expect(bodyOf(one, 0)).toMatchObject({ RegistrantContact: { PhoneNumber: written } });
});

test("a phone number that is none is refused before anything is sent", async () => {
  const one = await scene();
  const wrong = { ...input, contact: { ...contact, phone: "+999" } };
  await expect(one.registrar.register(wrong)).rejects.toThrow(Refused);
  expect(one.recorded).toEqual([]);
});

test.each([
  ["UnsupportedTLD", "under this ending cannot be registered"],
  ["TLDRulesViolation", "rules of the registry"],
  ["DomainLimitExceeded", "No more names can be registered"],
  ["InvalidInput", "It says: Zip code … is wrong for 111-222"],
])("%s is a refusal, in a sentence", async (code, sentence) => {
  const one = await scene([refusal(code, "Zip code 111122223333 is wrong\nfor 111-222")]);
  const error = await thrownBy(one.registrar.register(input));
  expect(error).toBeInstanceOf(Refused);
  expect((error as Error).message).toContain(sentence);
  expect(callsOf(one)).toEqual(["RegisterDomain", "GetDomainDetail"]);
});

test("a refusal of a name that is ours by now is no refusal", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  expect(await thrownBy(one.registrar.register(input))).toMatchObject(unavailable);
  const unsure = await scene([refusal("InvalidInput"), refusal("AccessDenied")]);
  const error = await thrownBy(unsure.registrar.register(input));
  expect(error).not.toBeInstanceOf(Refused);
});

test.each<[string, Fault]>([
  ["a lost answer", "lost"],
  ["silence", "silence"],
  ["an answer that stops in the middle", "stall"],
  ["a hang-up", "hang-up"],
  ["a failure inside", refusal("InternalFailure", "No", {}, 500)],
  ["a throttle", refusal("ThrottlingException")],
  ["too many operations at once", refusal("OperationLimitExceeded")],
  ["a registry in maintenance", refusal("TLDInMaintenance")],
  ["an answer that is no JSON", { status: 200, body: "<h1>Hello</h1>" }],
  ["an answer without an operation", { status: 200, body: "{}" }],
])("%s leaves a registration unknown, 503, and it is not sent twice", async (_what, trouble) => {
  const one = await scene([trouble]);
  expect(await thrownBy(one.registrar.register(input))).toMatchObject(unavailable);
  expect(callsOf(one)).toEqual(["RegisterDomain"]);
});

test("a registration whose answer was lost is found by its name, and by registering again", async () => {
  const one = await scene(["lost"]);
  await thrownBy(one.registrar.register(input));
  const running = { id: "operation-1", state: "running" };
  expect(await one.registrar.findOperation(name, since)).toEqual(running);
  expect(await one.registrar.register(input)).toEqual(running);
  one.settle("operation-1");
  expect(await one.registrar.findOperation(name, since)).toEqual({ ...running, state: "succeeded" });
});

test("a registration that runs is found also when Route 53 does not say which it is", async () => {
  const one = await scene();
  for (const other of ["a.com", "b.com", name]) await one.registrar.register({ ...input, name: other });
  one.troubles.push(refusal("DuplicateRequest"));
  expect(await one.registrar.register(input)).toEqual({ id: "operation-3", state: "running" });
  expect(bodyOf(one, -1)).toEqual({
    Status: ["SUBMITTED", "IN_PROGRESS"],
    Type: ["REGISTER_DOMAIN"],
    SortBy: "SubmittedDate",
    SortOrder: "DESC",
    MaxItems: 100,
  });
});

test("something else that runs for the name is 503", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  await one.registrar.release(name);
  expect(await thrownBy(one.registrar.register(input))).toMatchObject(unavailable);
});

test.each([
  ["SUBMITTED", { state: "running" }],
  ["IN_PROGRESS", { state: "running" }],
  ["SUCCESSFUL", { state: "succeeded" }],
  ["FAILED", { state: "failed", reason: "It is taken in … now." }],
  ["ERROR", { state: "failed", reason: "It is taken in … now." }],
])("an operation that is %s", async (Status, expected) => {
  const one = await scene();
  const { id } = await one.registrar.register(input);
  Object.assign(one.operations[0] ?? {}, { Status, Message: "It is taken\nin 111122223333 now." });
  expect(await one.registrar.operation(id)).toEqual({ id, ...expected });
  expect(await one.registrar.findOperation(name, since)).toEqual({ id, ...expected });
});

test("a failure without a message has a reason all the same, and a long one ends", async () => {
  const one = await scene();
  const { id } = await one.registrar.register(input);
  Object.assign(one.operations[0] ?? {}, { Status: "FAILED" });
  expect(await one.registrar.operation(id)).toMatchObject({ reason: "The registry did not register the name." });
  Object.assign(one.operations[0] ?? {}, { Message: "long ".repeat(1_000) });
  expect((await one.registrar.operation(id)).reason).toHaveLength(200);
});

test("the latest registration of the name since then is found, on whatever page, and nothing else", async () => {
  const one = await scene();
  const submit = (DomainName: string, Type = "REGISTER_DOMAIN"): number =>
    one.operations.push({
      OperationId: `o${one.operations.length}`,
      Status: "SUCCESSFUL",
      Type,
      DomainName,
      SubmittedDate: since.getTime() / 1_000 + one.operations.length,
    });
  submit(name);
  submit(name);
  submit(name, "DELETE_DOMAIN");
  for (let n = 0; n < 250; n++) submit(`other${n}.com`);
  expect(await one.registrar.findOperation(name, since)).toMatchObject({ id: "o1" });
  expect(one.recorded).toHaveLength(3);
  expect(bodyOf(one, 0)).toEqual({
    SubmittedSince: since.getTime() / 1_000 - 5,
    Type: ["REGISTER_DOMAIN"],
    SortBy: "SubmittedDate",
    SortOrder: "DESC",
    MaxItems: 100,
  });
  expect(await one.registrar.findOperation(name, new Date(since.getTime() + 7_000))).toBeUndefined();
});

test("a name of ours has its end, lock, renewal and nameservers; another one is none", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  expect(await one.registrar.registration(name)).toEqual({
    expiresAt: "2027-01-02T03:04:05.500Z",
    locked: true,
    autoRenew: true,
    nameservers: ["ns-1.awsdns-1.com", "ns-2.awsdns-2.net"],
  });
  one.domains.set(name, { ...newDomain(name), StatusList: ["ok"] });
  expect(await one.registrar.registration(name)).toMatchObject({ locked: false });
  expect(await one.registrar.registration("other.com")).toBeUndefined();
});

test("another refusal to tell of a name is an Error, not «not ours»", async () => {
  const one = await scene([refusal("InvalidInput", "Too many dots")]);
  expect(await thrownBy(one.registrar.registration(name))).toMatchObject({ name: "InvalidInput" });
});

test("nameservers and renewal are set", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  await one.registrar.setNameservers(name, ["a.ns1.example.net", "a.ns2.example.net"]);
  expect(bodyOf(one, 0)).toEqual({
    DomainName: name,
    Nameservers: [{ Name: "a.ns1.example.net" }, { Name: "a.ns2.example.net" }],
  });
  await one.registrar.setAutoRenew(name, false);
  await one.registrar.setAutoRenew(name, true);
  expect(callsOf(one).slice(1)).toEqual(["DisableDomainAutoRenew", "EnableDomainAutoRenew"]);
});

test("a change while another one runs is 503", async () => {
  const one = await scene([refusal("DuplicateRequest")]);
  expect(await thrownBy(one.registrar.setNameservers(name, ["ns.example.net"]))).toMatchObject(unavailable);
});

test("a name is deleted; one that is gone or being deleted is fine", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  await one.registrar.release(name);
  expect(one.domains.size).toBe(0);
  await one.registrar.release(name);
  one.troubles.push(refusal("DuplicateRequest", "Pending", { requestId: "operation-1" }));
  await one.registrar.release(name);
  expect(callsOf(one)).toEqual(["DeleteDomain", "DeleteDomain", "DeleteDomain", "GetOperationDetail"]);
});

test("a name that something else is done to is not released", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  await one.registrar.setNameservers(name, ["ns.example.net"]);
  one.troubles.push(refusal("DuplicateRequest", "Pending", { requestId: "operation-1" }));
  expect(await thrownBy(one.registrar.release(name))).toMatchObject(unavailable);
});

test.each(["TLDRulesViolation", "UnsupportedTLD"])(
  "where names cannot be deleted (%s) it is not renewed",
  async (code) => {
    const one = await scene([refusal(code)]);
    one.domains.set(name, newDomain(name));
    await one.registrar.release(name);
    expect(one.domains.get(name)?.AutoRenew).toBe(false);
  },
);

test("what passes is not noticed; after three attempts it is 503", async () => {
  const troubles: [string, Fault][] = [
    ["a throttle", refusal("ThrottlingException")],
    ["a failure inside", refusal("InternalFailure", "No", {}, 500)],
    ["silence", "silence"],
    ["an answer that stops in the middle", "stall"],
    ["a hang-up", "hang-up"],
  ];
  const nowhere = thrownBy(route53Registrar({ endpoint: "http://127.0.0.1:1" }).tlds());
  await Promise.all(
    troubles.map(async ([what, trouble]) => {
      const [once, ever] = [await scene([trouble]), await scene([trouble, trouble, trouble])];
      const [found, error] = await Promise.all([
        once.registrar.registration(name),
        thrownBy(ever.registrar.registration(name)),
      ]);
      expect(found, what).toBeUndefined();
      expect(once.recorded, what).toHaveLength(2);
      expect(error, what).toMatchObject(unavailable);
      expect(ever.recorded, what).toHaveLength(3);
    }),
  );
  expect(await nowhere).toMatchObject(unavailable);
});

test.each([
  ["no JSON", "<h1>Hello</h1>"],
  ["nothing", ""],
  ["other JSON", "[]"],
  ["fields of other types", '{"ExpirationDate":"soon","Prices":7,"Operations":{},"Availability":[],"Status":"?"}'],
])("an answer of %s with 200 is 503, and believed to say nothing", async (_what, body) => {
  const garbled = { status: 200, headers: { "content-type": "application/x-amz-json-1.1" }, body };
  const uses: ((registrar: Registrar) => Promise<unknown>)[] = [
    (registrar) => registrar.tlds(),
    (registrar) => registrar.operation("operation-1"),
    (registrar) => registrar.findOperation(name, since),
    (registrar) => registrar.registration(name),
  ];
  await Promise.all(
    uses.map(async (use) => {
      const { registrar } = await scene([garbled]);
      expect(await thrownBy(use(registrar))).toMatchObject(unavailable);
    }),
  );
});

test("AccessDenied is our own mistake: no 503, and no second attempt", async () => {
  const one = await scene([refusal("AccessDeniedException")]);
  const error = await thrownBy(one.registrar.registration(name));
  expect(error).toMatchObject({ name: "AccessDeniedException" });
  expect(error).not.toBeInstanceOf(Problem);
  expect(one.recorded).toHaveLength(1);
});

test("the SDK is not loaded before the first name, and is then found by the environment", () => {
  const file = resolve(import.meta.dirname, "../../../shared/providers/registrar.ts");
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => { if (/client-route-53|libphonenumber/.test(url)) loaded.push(url); return next(url, context); } });
    const { registrar } = await import(${JSON.stringify(file)});
    const chosen = registrar({}, () => new Date());
    const before = loaded.length;
    const code = await chosen.tlds().catch(({ code }) => code);
    process.stdout.write(JSON.stringify([before, loaded.length > 0, code]));
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    env: {
      PATH: process.env["PATH"] ?? "",
      REGISTRAR: "route53",
      AWS_ACCESS_KEY_ID: "AKID",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_ENDPOINT_URL_ROUTE_53_DOMAINS: "http://127.0.0.1:1",
    },
    encoding: "utf8",
  });
  expect(JSON.parse(output)).toEqual([0, true, "upstream_unavailable"]);
});
