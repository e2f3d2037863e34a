import { beforeEach, expect, test } from "vitest";

import { Refused } from "../../../../shared/providers/registrar/registrar.ts";
import { stubAws } from "../../../support/aws.ts";
import { contact } from "../../../support/contact.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { newDomain, refusal } from "../domains-service.ts";
import type { Fault } from "../loopback.ts";
import { bodyOf, callsOf, input, name, scene, since, unavailable } from "./route53-scene.ts";

beforeEach(() => stubAws("eu-central-1"));

test("a name is registered for one year, with one contact for all roles, and the contact is hidden", async () => {
  const one = await scene();
  expect(await one.registrar.register(input)).toEqual({ id: "operation-1", state: "running" });
  const detail = {
    FirstName: "Ada",
    LastName: "Example",
    ContactType: "PERSON",
    AddressLine1: "1 Example Street",
    City: "San Francisco",
    State: "CA",
    CountryCode: "US",
    ZipCode: "94105",
    PhoneNumber: "+1.4155552671",
    Email: "ada@example.com",
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

test("a contact with an organization is sent as a company, and an empty state is not sent", async () => {
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

test("an invalid phone number is refused before anything is sent", async () => {
  const one = await scene();
  const wrong = { ...input, contact: { ...contact, phone: "+999" } };
  await expect(one.registrar.register(wrong)).rejects.toThrow(Refused);
  expect(one.recorded).toEqual([]);
});

test.each([
  ["UnsupportedTLD", "under this top-level domain cannot be registered"],
  ["TLDRulesViolation", "rules of the registry"],
  ["DomainLimitExceeded", "No more names can be registered"],
  ["InvalidInput", "Its message: Zip code … is wrong for 111-222"],
])("%s is a refusal with a sentence for people", async (code, sentence) => {
  const one = await scene([refusal(code, "Zip code 111122223333 is wrong\nfor 111-222")]);
  const error = await thrownBy(one.registrar.register(input));
  expect(error).toBeInstanceOf(Refused);
  expect((error as Error).message).toContain(sentence);
  expect(callsOf(one)).toEqual(["RegisterDomain", "GetDomainDetail"]);
});

test("a refusal does not count if the name is now ours, or if it is unknown whether it is ours", async () => {
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
  ["an internal failure", refusal("InternalFailure", "No", {}, 500)],
  ["a throttle", refusal("ThrottlingException")],
  ["too many operations at once", refusal("OperationLimitExceeded")],
  ["a registry in maintenance", refusal("TLDInMaintenance")],
  ["an answer that is not JSON", { status: 200, body: "<h1>Hello</h1>" }],
  ["an answer without an operation", { status: 200, body: "{}" }],
])(
  "after %s the result of a registration is unknown, a 503 is thrown, and the request is not sent again",
  async (_what, trouble) => {
    const one = await scene([trouble]);
    expect(await thrownBy(one.registrar.register(input))).toMatchObject(unavailable);
    expect(callsOf(one)).toEqual(["RegisterDomain"]);
  },
);

test("a registration whose answer was lost is found by its name, and by registering again", async () => {
  const one = await scene(["lost"]);
  await thrownBy(one.registrar.register(input));
  const running = { id: "operation-1", state: "running" };
  expect(await one.registrar.findOperation(name, since, "register")).toEqual(running);
  expect(await one.registrar.register(input)).toEqual(running);
  one.settle("operation-1");
  expect(await one.registrar.findOperation(name, since, "register")).toEqual({ ...running, state: "succeeded" });
});

test("a running registration is found even if Route 53 does not name its operation", async () => {
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

test("another running operation of the name causes a 503", async () => {
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
])("an operation with the status %s is returned as %j", async (Status, expected) => {
  const one = await scene();
  const { id } = await one.registrar.register(input);
  Object.assign(one.operations[0] ?? {}, { Status, Message: "It is taken\nin 111122223333 now." });
  expect(await one.registrar.operation(id)).toEqual({ id, ...expected });
  expect(await one.registrar.findOperation(name, since, "register")).toEqual({ id, ...expected });
});

test("a failure without a message has a reason, and a long message is cut", async () => {
  const one = await scene();
  const { id } = await one.registrar.register(input);
  Object.assign(one.operations[0] ?? {}, { Status: "FAILED" });
  expect(await one.registrar.operation(id)).toMatchObject({ reason: "The registry did not register the name." });
  Object.assign(one.operations[0] ?? {}, { Message: "long ".repeat(1_000) });
  expect((await one.registrar.operation(id)).reason).toHaveLength(200);
});

test("`findOperation` finds the latest registration of the name since a time, on any page, and no other operation", async () => {
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
  expect(await one.registrar.findOperation(name, since, "register")).toMatchObject({ id: "o1" });
  expect(one.recorded).toHaveLength(3);
  expect(bodyOf(one, 0)).toEqual({
    SubmittedSince: since.getTime() / 1_000 - 5,
    Type: ["REGISTER_DOMAIN"],
    SortBy: "SubmittedDate",
    SortOrder: "DESC",
    MaxItems: 100,
  });
  expect(await one.registrar.findOperation(name, new Date(since.getTime() + 7_000), "register")).toBeUndefined();
});
