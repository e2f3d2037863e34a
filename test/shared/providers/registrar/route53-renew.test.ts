import { beforeEach, expect, test } from "vitest";

import { Refused, type Renewing } from "../../../../shared/providers/registrar/registrar.ts";
import { stubAws } from "../../../support/aws.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { newDomain, refusal } from "../domains-service.ts";
import type { Fault } from "../loopback.ts";
import { bodyOf, callsOf, input, name, scene, since, unavailable } from "./route53-scene.ts";

beforeEach(() => stubAws("eu-central-1"));

const renewal: Renewing = { name, years: 2, expiresAt: "2027-01-02T03:04:05.500Z", restore: false };
const running = { id: "operation-1", state: "running" };

/** A registrar where the name is registered. The first requests have these faults. */
async function ours(...troubles: Fault[]) {
  const one = await scene(troubles);
  one.domains.set(name, newDomain(name));
  return one;
}

test("a renewal sends the number of years, and the year in which the registration ends now", async () => {
  const one = await ours();
  expect(await one.registrar.renew(renewal)).toEqual(running);
  expect(bodyOf(one, 0)).toEqual({ DomainName: name, DurationInYears: 2, CurrentExpiryYear: 2027 });
  one.settle("operation-1");
  expect(await one.registrar.operation("operation-1")).toEqual({ ...running, state: "succeeded" });
  expect(await one.registrar.registration(name)).toMatchObject({ expiresAt: "2028-01-02T03:04:05.500Z" });
});

test.each([
  ["UnsupportedTLD", "cannot be renewed here"],
  ["TLDRulesViolation", "do not allow this renewal"],
  ["InvalidInput", "refuses this renewal. Its message: Not in …"],
])("%s is a refusal with a sentence for people", async (code, sentence) => {
  const one = await ours(refusal(code, "Not in 111122223333"));
  const error = await thrownBy(one.registrar.renew(renewal));
  expect(error).toBeInstanceOf(Refused);
  expect((error as Error).message).toContain(sentence);
  expect(callsOf(one)).toEqual(["RenewDomain", "GetDomainDetail"]);
});

test("a refusal does not count if the registration now ends later", async () => {
  const one = await ours();
  await one.registrar.renew(renewal);
  one.settle("operation-1");
  expect(await thrownBy(one.registrar.renew(renewal))).toMatchObject(unavailable);
});

test("a restoration is refused before anything is sent, because Route 53 has no call for a restoration", async () => {
  const one = await ours();
  await expect(one.registrar.renew({ ...renewal, restore: true })).rejects.toThrow(Refused);
  expect(one.recorded).toEqual([]);
});

test.each<[string, Fault]>([
  ["a lost answer", "lost"],
  ["silence", "silence"],
  ["a throttle", refusal("ThrottlingException")],
  ["a registry in maintenance", refusal("TLDInMaintenance")],
])(
  "after %s the result of a renewal is unknown, a 503 is thrown, and the request is not sent again",
  async (_what, trouble) => {
    const one = await ours(trouble);
    expect(await thrownBy(one.registrar.renew(renewal))).toMatchObject(unavailable);
    expect(callsOf(one)).toEqual(["RenewDomain"]);
  },
);

test("a renewal whose answer was lost is found among the renewals of its name, and by renewing again", async () => {
  const one = await ours("lost");
  await thrownBy(one.registrar.renew(renewal));
  expect(await one.registrar.findOperation(name, since, "renew")).toEqual(running);
  expect(bodyOf(one, -1)).toMatchObject({ Type: ["RENEW_DOMAIN"] });
  expect(await one.registrar.findOperation(name, since, "register")).toBeUndefined();
  expect(await one.registrar.renew(renewal)).toEqual(running);
});

test("a running registration of the name does not count as its renewal", async () => {
  const one = await scene();
  await one.registrar.register(input);
  one.domains.set(name, newDomain(name));
  expect(await thrownBy(one.registrar.renew(renewal))).toMatchObject(unavailable);
});

test("a failed renewal has a reason", async () => {
  const one = await ours();
  const { id } = await one.registrar.renew(renewal);
  Object.assign(one.operations[0] ?? {}, { Status: "FAILED" });
  expect(await one.registrar.operation(id)).toEqual({
    id,
    state: "failed",
    reason: "The registry did not renew the name.",
  });
});
