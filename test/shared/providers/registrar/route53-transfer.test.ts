import { beforeEach, expect, test } from "vitest";

import { Refused } from "../../../../shared/providers/registrar/registrar.ts";
import { stubAws } from "../../../support/aws.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { newDomain, refusal } from "../domains-service.ts";
import type { Fault } from "../loopback.ts";
import { bodyOf, callsOf, input, name, scene, since, unavailable } from "./route53-scene.ts";

beforeEach(() => stubAws("eu-central-1"));

const authCode = "a-code";
const transferring = { ...input, authCode };
const running = { id: "operation-1", state: "running" };

test("an offer asks whether the name can be transferred with the code, and has the transfer's price", async () => {
  const one = await scene();
  one.elsewhere.set(name, { authCode });
  expect(await one.registrar.transferOffer(name, authCode)).toEqual({ name, status: "transferable", price: 1_250 });
  expect(callsOf(one).toSorted()).toEqual(["CheckDomainTransferability", "ListPrices"]);
  const asked = one.recorded.findIndex(({ body }) => body.includes("AuthCode"));
  expect(bodyOf(one, asked)).toEqual({ DomainName: name, AuthCode: authCode });
});

test.each([
  ["UNTRANSFERABLE", "The domain name has the status clientTransferProhibited.", { status: "locked" }],
  ["UNTRANSFERABLE", "The domain was registered less than 60 days ago.", { status: "too_soon" }],
  ["UNTRANSFERABLE", "The authorization code is not valid.", { status: "auth_code_wrong" }],
  ["UNTRANSFERABLE", "The domain is not registered.", { status: "not_registered" }],
  ["UNTRANSFERABLE", "Not by 111122223333 today.", { status: "refused", reason: "Not by … today." }],
  ["UNTRANSFERABLE", undefined, { status: "refused" }],
  ["DOMAIN_IN_OWN_ACCOUNT", undefined, { status: "ours" }],
  ["DOMAIN_IN_ANOTHER_ACCOUNT", undefined, { status: "refused", reason: expect.stringContaining("another account") }],
  ["PREMIUM_DOMAIN", undefined, { status: "premium" }],
  ["DONT_KNOW", undefined, { status: "unknown" }],
  ["A_NEW_ONE", undefined, { status: "unknown" }],
])("%s with the message %j is an offer without a price", async (Transferable, Message, offer) => {
  const one = await scene();
  one.elsewhere.set(name, { authCode, refusal: { Transferable, ...(Message === undefined ? {} : { Message }) } });
  expect(await one.registrar.transferOffer(name, authCode)).toEqual({ name, ...offer });
});

test.each([
  ["UnsupportedTLD", "unsupported_tld"],
  ["InvalidInput", "invalid"],
])("the error %s gives an offer with the status %s", async (code, status) => {
  const one = await scene([refusal(code), refusal(code)]);
  expect(await one.registrar.transferOffer(name, authCode)).toEqual({ name, status });
});

test("a transfer sends the code, the contacts and no nameservers, and ends with a registration", async () => {
  const one = await scene();
  one.elsewhere.set(name, { authCode });
  expect(await one.registrar.transfer(transferring)).toEqual(running);
  const sent = bodyOf(one, 0) as Record<string, unknown>;
  expect(sent).toMatchObject({ DomainName: name, AuthCode: authCode, DurationInYears: 1, AutoRenew: false });
  expect(sent).toMatchObject({ PrivacyProtectRegistrantContact: true, RegistrantContact: { ContactType: "PERSON" } });
  expect(sent).not.toHaveProperty("Nameservers");
  one.settle("operation-1");
  expect(await one.registrar.operation("operation-1")).toEqual({ ...running, state: "succeeded" });
  expect(await one.registrar.registration(name)).toMatchObject({ transferableAt: "2026-03-03T03:04:05.000Z" });
});

test.each([
  ["UnsupportedTLD", "cannot be transferred here"],
  ["TLDRulesViolation", "do not allow this transfer"],
  ["InvalidInput", "refuses this transfer. Its message: Not in …"],
])("%s is a refusal with a sentence for people", async (code, sentence) => {
  const one = await scene([refusal(code, "Not in 111122223333")]);
  const error = await thrownBy(one.registrar.transfer(transferring));
  expect(error).toBeInstanceOf(Refused);
  expect((error as Error).message).toContain(sentence);
  expect(callsOf(one)).toEqual(["TransferDomain", "GetDomainDetail"]);
});

test("a refusal does not count if the name is now ours", async () => {
  const one = await scene([refusal("InvalidInput")]);
  one.domains.set(name, newDomain(name));
  expect(await thrownBy(one.registrar.transfer(transferring))).toMatchObject(unavailable);
});

test.each<[string, Fault]>([
  ["a lost answer", "lost"],
  ["silence", "silence"],
  ["a throttle", refusal("ThrottlingException")],
  ["a registry in maintenance", refusal("TLDInMaintenance")],
])(
  "after %s the result of a transfer is unknown, a 503 is thrown, and the request is not sent again",
  async (_what, trouble) => {
    const one = await scene([trouble]);
    one.elsewhere.set(name, { authCode });
    expect(await thrownBy(one.registrar.transfer(transferring))).toMatchObject(unavailable);
    expect(callsOf(one)).toEqual(["TransferDomain"]);
  },
);

test("a transfer whose answer was lost is found among the transfers of its name, and by asking again", async () => {
  const one = await scene(["lost"]);
  one.elsewhere.set(name, { authCode });
  await thrownBy(one.registrar.transfer(transferring));
  expect(await one.registrar.findOperation(name, since, "transfer")).toEqual(running);
  expect(bodyOf(one, -1)).toMatchObject({ Type: ["TRANSFER_IN_DOMAIN"] });
  expect(await one.registrar.findOperation(name, since, "register")).toBeUndefined();
  expect(await one.registrar.transfer(transferring)).toEqual(running);
});

test("a failed transfer has the reason of the registrar, or a general reason", async () => {
  const one = await scene();
  one.elsewhere.set(name, { authCode });
  const { id } = await one.registrar.transfer(transferring);
  Object.assign(one.operations[0] ?? {}, { Status: "FAILED" });
  const failed = { id, state: "failed", reason: "The registry did not transfer the name." };
  expect(await one.registrar.operation(id)).toEqual(failed);
  Object.assign(one.operations[0] ?? {}, { Message: "The current registrar rejected the transfer." });
  const reason = "The current registrar rejected the transfer.";
  expect(await one.registrar.operation(id)).toEqual({ ...failed, reason });
});

test.each(["TRANSFER_OUT_DOMAIN", "INTERNAL_TRANSFER_OUT_DOMAIN"])(
  "an operation %s is found as a transfer to another registrar",
  async (Type) => {
    const one = await scene();
    const operation = {
      OperationId: "operation-1",
      Status: "SUCCESSFUL",
      DomainName: name,
      SubmittedDate: 1_767_323_045,
    };
    one.operations.push({ ...operation, Type });
    const found = { id: "operation-1", state: "succeeded" };
    expect(await one.registrar.findOperation(name, since, "transfer_out")).toEqual(found);
    expect(bodyOf(one, -1)).toMatchObject({ Type: ["TRANSFER_OUT_DOMAIN", "INTERNAL_TRANSFER_OUT_DOMAIN"] });
    expect(await one.registrar.findOperation(name, since, "transfer")).toBeUndefined();
  },
);
