import { beforeEach, expect, test } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { Refused, type Registrar } from "../../../../shared/providers/registrar/registrar.ts";
import { route53Registrar } from "../../../../shared/providers/registrar/route53.ts";
import { awsEnvironment, stubAws } from "../../../support/aws.ts";
import { contact } from "../../../support/contact.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { newDomain, refusal } from "../domains-service.ts";
import { loadingOf } from "../lazy-loading.ts";
import type { Fault } from "../loopback.ts";
import { bodyOf, callsOf, name, scene, since, unavailable } from "./route53-scene.ts";

beforeEach(() => stubAws("eu-central-1"));

test("every request is AWS JSON 1.1, signed with SigV4 for us-east-1 in every region", async () => {
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

test("a registered name has its dates, statuses, renewal and nameservers, and another name has no registration", async () => {
  const one = await scene([], { now: () => since });
  one.domains.set(name, newDomain(name));
  expect(await one.registrar.registration(name)).toEqual({
    expiresAt: "2027-01-02T03:04:05.500Z",
    phase: "registered",
    graceEndsAt: "2027-02-01T03:04:05.500Z",
    redemptionEndsAt: "2027-03-03T03:04:05.500Z",
    transferableAt: "2026-03-03T03:04:05.000Z",
    statuses: ["clientTransferProhibited", "addPeriod"],
    privacy: true,
    autoRenew: true,
    nameservers: ["ns-1.awsdns-1.com", "ns-2.awsdns-2.net"],
  });
  expect(await one.registrar.registration("other.com")).toBeUndefined();
});

test.each([
  ["2027-01-02T03:04:05.499Z", [], "registered"],
  ["2027-01-02T03:04:05.500Z", [], "grace"],
  ["2027-02-01T03:04:05.499Z", ["autoRenewPeriod"], "grace"],
  ["2027-02-01T03:04:05.500Z", [], "redemption"],
  ["2027-01-10T00:00:00.000Z", ["redemptionPeriod https://icann.org/epp#redemptionPeriod"], "redemption"],
])("at %s a name with the statuses %j is in the phase %s", async (at, StatusList, phase) => {
  const one = await scene([], { now: () => new Date(at) });
  one.domains.set(name, { ...newDomain(name), StatusList });
  const statuses = StatusList.map((status) => status.split(" ")[0]);
  expect(await one.registrar.registration(name)).toMatchObject({ phase, statuses });
});

test("another refusal to show a name causes an error, and does not mean that the name is not ours", async () => {
  const one = await scene([refusal("InvalidInput", "Too many dots")]);
  expect(await thrownBy(one.registrar.registration(name))).toMatchObject({ name: "InvalidInput" });
});

test("nameservers are set, and automatic renewal is stopped", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  await one.registrar.setNameservers(name, ["a.ns1.example.net", "a.ns2.example.net"]);
  expect(bodyOf(one, 0)).toEqual({
    DomainName: name,
    Nameservers: [{ Name: "a.ns1.example.net" }, { Name: "a.ns2.example.net" }],
  });
  await one.registrar.stopAutoRenew(name);
  expect(callsOf(one).slice(1)).toEqual(["DisableDomainAutoRenew"]);
});

test("a name is unlocked and locked, and its contacts are shown and hidden", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  await one.registrar.setLock(name, false);
  await one.registrar.setPrivacy(name, false);
  expect(await one.registrar.registration(name)).toMatchObject({ statuses: ["addPeriod"], privacy: false });
  await one.registrar.setLock(name, true);
  await one.registrar.setPrivacy(name, true);
  expect(await one.registrar.registration(name)).toMatchObject({
    statuses: ["clientTransferProhibited", "addPeriod"],
    privacy: true,
  });
  expect(bodyOf(one, 1)).toEqual({
    DomainName: name,
    AdminPrivacy: false,
    RegistrantPrivacy: false,
    TechPrivacy: false,
    BillingPrivacy: false,
  });
});

test.each(["UnsupportedTLD", "TLDRulesViolation"])(
  "if the registry has no lock and no privacy (%s), a change of them is ignored",
  async (code) => {
    const one = await scene([refusal(code), refusal(code)]);
    one.domains.set(name, newDomain(name));
    await one.registrar.setLock(name, false);
    await one.registrar.setPrivacy(name, false);
    expect(await one.registrar.registration(name)).toMatchObject({ privacy: true });
  },
);

test("the auth code of a name comes from the registrar, and a name without auth codes is refused", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  expect(await one.registrar.authCode(name)).toBe("code of example.com");
  one.troubles.push(refusal("UnsupportedTLD"));
  expect(await thrownBy(one.registrar.authCode(name))).toBeInstanceOf(Refused);
});

test("all contacts of a name are replaced by one contact, which can be read again unchanged", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  expect(await one.registrar.contact(name)).toBeUndefined();
  const person = { ...contact, organization: null, address_2: "Floor 2" };
  const { id, state } = await one.registrar.setContact(name, person);
  expect(state).toBe("running");
  expect(await one.registrar.operation(id)).toEqual({ id, state: "running" });
  const detail = {
    FirstName: "Ada",
    LastName: "Example",
    ContactType: "PERSON",
    AddressLine1: "1 Example Street",
    AddressLine2: "Floor 2",
    City: "San Francisco",
    State: "CA",
    CountryCode: "US",
    ZipCode: "94105",
    PhoneNumber: "+1.4155552671",
    Email: "ada@example.com",
  };
  expect(bodyOf(one, 1)).toEqual({
    DomainName: name,
    AdminContact: detail,
    RegistrantContact: detail,
    TechContact: detail,
    BillingContact: detail,
  });
  expect(await one.registrar.contact(name)).toEqual({ ...person, organization: undefined });
  expect(await one.registrar.contact("other.com")).toBeUndefined();
});

test.each([
  ["InvalidInput", "The registrar says: The city is unknown."],
  ["TLDRulesViolation", "The rules of the registry do not allow this contact."],
])("a contact that the registrar does not accept (%s) is a refusal with a reason", async (code, message) => {
  const one = await scene([refusal(code, "The city is unknown.")]);
  expect(await thrownBy(one.registrar.setContact(name, contact))).toEqual(new Refused(message));
});

test.each([
  ["InvalidInput", true],
  ["TLDRulesViolation", true],
  ["UnsupportedTLD", true],
  ["AccessDeniedException", false],
])(
  "nameservers that the registrar does not accept are a refusal, but a fault of ours is none (%s)",
  async (code, is) => {
    const one = await scene([refusal(code, "The host is unknown.")]);
    const error = await thrownBy(one.registrar.setNameservers(name, ["ns.example.net"]));
    expect(error instanceof Refused).toBe(is);
    expect(error).toMatchObject({ message: is ? "The registrar says: The host is unknown." : "The host is unknown." });
  },
);

test("a change while another change runs causes a 503", async () => {
  const one = await scene([refusal("DuplicateRequest")]);
  expect(await thrownBy(one.registrar.setNameservers(name, ["ns.example.net"]))).toMatchObject(unavailable);
});

test("`release` deletes a name, and does nothing for a name that is deleted or being deleted", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  await one.registrar.release(name);
  expect(one.domains.size).toBe(0);
  await one.registrar.release(name);
  one.troubles.push(refusal("DuplicateRequest", "Pending", { requestId: "operation-1" }));
  await one.registrar.release(name);
  expect(callsOf(one)).toEqual(["DeleteDomain", "DeleteDomain", "DeleteDomain", "GetOperationDetail"]);
});

test("a name with another running operation is not released, and the result is a 503", async () => {
  const one = await scene();
  one.domains.set(name, newDomain(name));
  await one.registrar.setNameservers(name, ["ns.example.net"]);
  one.troubles.push(refusal("DuplicateRequest", "Pending", { requestId: "operation-1" }));
  expect(await thrownBy(one.registrar.release(name))).toMatchObject(unavailable);
});

test.each(["TLDRulesViolation", "UnsupportedTLD"])(
  "if the name cannot be deleted (%s), `release` stops its automatic renewal",
  async (code) => {
    const one = await scene([refusal(code)]);
    one.domains.set(name, newDomain(name));
    await one.registrar.release(name);
    expect(one.domains.get(name)?.AutoRenew).toBe(false);
  },
);

test("a temporary failure is tried again, and three failures cause a 503", async () => {
  const troubles: [string, Fault][] = [
    ["a throttle", refusal("ThrottlingException")],
    ["an internal failure", refusal("InternalFailure", "No", {}, 500)],
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
])("an answer with 200 and %s causes a 503", async (_what, body) => {
  const garbled = { status: 200, headers: { "content-type": "application/x-amz-json-1.1" }, body };
  const uses: ((registrar: Registrar) => Promise<unknown>)[] = [
    (registrar) => registrar.tlds(),
    (registrar) => registrar.operation("operation-1"),
    (registrar) => registrar.findOperation(name, since, "register"),
    (registrar) => registrar.registration(name),
  ];
  await Promise.all(
    uses.map(async (use) => {
      const { registrar } = await scene([garbled]);
      expect(await thrownBy(use(registrar))).toMatchObject(unavailable);
    }),
  );
});

test("AccessDenied is our own mistake, so it causes no 503 and no second attempt", async () => {
  const one = await scene([refusal("AccessDeniedException")]);
  const error = await thrownBy(one.registrar.registration(name));
  expect(error).toMatchObject({ name: "AccessDeniedException" });
  expect(error).not.toBeInstanceOf(Problem);
  expect(one.recorded).toHaveLength(1);
});

test("the SDK is loaded only at the first use of the registrar, and uses the endpoint in the environment", () => {
  const loading = loadingOf("registrar/factory.ts", {
    modules: /client-route-53|libphonenumber/,
    make: "provider.registrar({}, () => new Date())",
    use: "made.tlds()",
    env: {
      ...awsEnvironment("eu-central-1"),
      REGISTRAR: "route53",
      AWS_ENDPOINT_URL_ROUTE_53_DOMAINS: "http://127.0.0.1:1",
    },
  });
  expect(loading).toEqual({ before: 0, after: true, failure: "upstream_unavailable" });
});
