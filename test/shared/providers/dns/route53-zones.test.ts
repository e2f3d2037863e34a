import { beforeEach, expect, test } from "vitest";

import { ZoneConflict, ZoneExists } from "../../../../shared/providers/dns/dns.ts";
import { stubAws } from "../../../support/aws.ts";
import { a } from "../../../support/dns-network.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { fault, newZone } from "../route53-service.ts";
import { callsOf, input, scene, unavailable, zoneScene } from "./route53-scene.ts";

beforeEach(() => stubAws("us-east-1"));

test("a zone is made on the delegation set, with the given nameservers at its apex", async () => {
  const one = await scene([], { delegationSetId: "N1" });
  expect(await one.dns.createZone(input)).toEqual({ zoneId: "Z1" });
  expect(callsOf(one)).toEqual(["GET hostedzonesbyname", "POST hostedzone", "POST hostedzone/Z1/rrset"]);
  expect(one.recorded[1]?.body).toBe(
    '<?xml version="1.0" encoding="UTF-8"?><CreateHostedZoneRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/">' +
      "<Name>example.com.</Name><CallerReference>domain-1</CallerReference><DelegationSetId>N1</DelegationSetId>" +
      "</CreateHostedZoneRequest>",
  );
  expect(one.zones.get("Z1")?.sets).toContainEqual({
    name: "example.com.",
    type: "NS",
    ttl: 86_400,
    values: ["a.ns1.example.net.", "a.ns2.example.net."],
  });
});

test("`createZone` that is repeated, or whose answer was lost, returns the same zone, and sets the new nameservers", async () => {
  const one = await scene([() => undefined, "lost"]);
  const nameservers = ["b.ns1.example.net"];
  expect(await one.dns.createZone(input)).toEqual({ zoneId: "Z1" });
  expect(await one.dns.createZone({ ...input, nameservers })).toEqual({ zoneId: "Z1" });
  expect(one.zones.size).toBe(1);
  expect(one.zones.get("Z1")?.sets.find(({ type }) => type === "NS")?.values).toEqual(["b.ns1.example.net."]);
});

test("a zone of the name with another reference causes `ZoneExists`, and is not changed", async () => {
  const one = await scene();
  one.zones.set("Z9", newZone("Z9", "example.com.", "another"));
  await expect(one.dns.createZone(input)).rejects.toThrow(ZoneExists);
  expect(callsOf(one)).toEqual(["GET hostedzonesbyname"]);
});

test("private zones and zones that the registrar made do not prevent a new zone, even if there are many", async () => {
  const one = await scene();
  for (let n = 0; n < 45; n++) {
    one.zones.set(`Y${n}`, { ...newZone(`Y${n}`, "example.com.", `private-${n}`), isPrivate: true });
  }
  one.zones.set("YR", newZone("YR", "example.com.", "RISWorkflow-RD:86f7536b"));
  one.zones.set("Z1", newZone("Z1", "sub.example.com.", "another"));
  const { zoneId } = await one.dns.createZone(input);
  expect(one.zones.get(zoneId)).toMatchObject({ name: "example.com.", reference: "domain-1" });
  expect(await one.dns.createZone(input)).toEqual({ zoneId });
  expect(callsOf(one).slice(0, 4)).toEqual([...Array(3).fill("GET hostedzonesbyname"), "POST hostedzone"]);
});

test("a zone that was created a moment ago and is not listed yet causes a 503", async () => {
  const one = await scene([() => undefined, fault("HostedZoneAlreadyExists", 409)]);
  expect(await thrownBy(one.dns.createZone(input))).toMatchObject(unavailable);
});

test("a conflict on the delegation set means another zone of the name, or a zone above or below the name", async () => {
  const conflict = fault("ConflictingDomainExists");
  const parent = await scene([() => undefined, conflict]);
  await expect(parent.dns.createZone(input)).rejects.toThrow(ZoneConflict);
  const same = await scene([() => undefined, conflict]);
  same.troubles.push(() => void same.zones.set("Z9", newZone("Z9", "example.com.", "another")));
  await expect(same.dns.createZone(input)).rejects.toThrow(ZoneExists);
});

test.each(["NoSuchDelegationSet", "DelegationSetNotReusable"])(
  "the error for %s names the wrong setting",
  async (code) => {
    const { dns } = await scene([() => undefined, fault(code)], { delegationSetId: "N1" });
    await expect(dns.createZone(input)).rejects.toThrow("DNS_DELEGATION_SET");
  },
);

test("a zone is emptied page by page and deleted; deleting a missing zone does nothing", async () => {
  const one = await zoneScene();
  const sets = one.zones.get(one.zoneId)?.sets ?? [];
  for (let n = 0; n < 1_100; n++) sets.push({ name: `h${n}.example.com.`, type: "A", ttl: 60, values: ["192.0.2.1"] });
  sets.push({ name: "example.com.", type: "MX", ttl: 60, values: ["10 mx.example.net."] });
  sets.push({ name: "sub.example.com.", type: "NS", ttl: 60, values: ["ns.example.net."] });
  await one.dns.deleteZone(one.zoneId);
  expect(one.zones.size).toBe(0);
  expect(callsOf(one).at(-1)).toBe("DELETE hostedzone/Z1");
  expect(one.recorded).toHaveLength(4 * 2 + 1);
  await one.dns.deleteZone(one.zoneId);
  expect(one.recorded).toHaveLength(4 * 2 + 2);
});

test("a zone is deleted even if it is changed meanwhile, and the answer is lost", async () => {
  const one = await zoneScene(a("a.example.com", "192.0.2.1"));
  const add = (): void => {
    one.zones.get(one.zoneId)?.sets.push({ name: "b.example.com.", type: "A", ttl: 60, values: ["192.0.2.1"] });
  };
  one.troubles.push(
    () => undefined,
    () => undefined,
    add,
    () => undefined,
    () => undefined,
    "lost",
  );
  await one.dns.deleteZone(one.zoneId);
  expect([one.zones.size, one.troubles]).toEqual([0, []]);
});

test("a zone that cannot be emptied is an Error after three rounds", async () => {
  const one = await zoneScene();
  for (let round = 0; round < 4; round++) one.troubles.push(() => undefined, fault("HostedZoneNotEmpty"));
  expect(await thrownBy(one.dns.deleteZone(one.zoneId))).toMatchObject({ name: "HostedZoneNotEmpty" });
  expect(one.recorded).toHaveLength(6);
});
