import { expect, test } from "vitest";

import { nameserversOf } from "../../../shared/core/platform.ts";
import { delegate, registeredNameKey } from "../../../shared/providers/registrar/embedded-names.ts";
import { quicklyActive, setStored, storedAs, write } from "../../support/domain-work.ts";
import { connected, delegated, domainsRequest, elsewhere, uniqueName, verify } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { ownedName } from "../../support/renewals.ts";
import { request } from "../../support/request.ts";
import { newAccount, testTable } from "../../support/world.ts";

test("says what to do if the parent zone does not delegate the domain to us, and changes nothing", async () => {
  const account = await newAccount();
  const { name, nameservers } = await connected(account);
  const [first = "", second = ""] = nameservers;
  const before = await storedOf(account);
  const cases: [delegatedTo: string[] | undefined, observed: string[], message: string][] = [
    [undefined, [], `${name} is not in the DNS of its parent: it is not registered, has no nameservers, or is on hold`],
    [
      elsewhere,
      elsewhere,
      `At the registrar of ${name}, add ${first} and ${second} and remove ${elsewhere.join(" and ")}.`,
    ],
    [[first], [first], `At the registrar of ${name}, add ${second}.`],
    [
      [first, second, "ns1.other.example"],
      [first, second, "ns1.other.example"],
      `At the registrar of ${name}, remove ns1.other.example.`,
    ],
    [
      [...nameserversOf("another")],
      [...nameserversOf("another")],
      `At the registrar of ${name}, add ${first} and ${second} and remove`,
    ],
  ];
  for (const [to, observed, message] of cases) {
    if (to) await delegate(testTable(), name, to);
    const { status, body } = await verify(account, name);
    expect([status, body]).toEqual([
      200,
      {
        domain: name,
        verified: false,
        status: "pending_delegation",
        outbound_routing_ready: false,
        fault: to ? "other_nameservers" : "not_registered",
        expected_nameservers: nameservers,
        observed_nameservers: observed.toSorted(),
        expected_txt: null,
        observed_txt: [],
        checked_at: expect.stringMatching(/Z$/),
        message: expect.stringContaining(message),
      },
    ]);
  }
  expect(await storedOf(account)).toEqual(before);
});

test("tells apart a name without a delegation and a name that does not exist", async () => {
  const [parent, child, name] = [await newAccount(), await newAccount(), uniqueName()];
  const [known, unknown] = [
    await connected(child, { name: `mail.${name}` }),
    await connected(child, { name: `www.${name}` }),
  ];
  await quicklyActive(parent, { name });
  const body = { domain: name, name: "mail", type: "A", value: "192.0.2.1" };
  await request("POST", `/v1/public/accounts/${parent.id}/dns-records`, { token: parent.owner.token, body });
  expect((await verify(child, known.name)).body.message).toContain(
    `${known.name} is not delegated. Set its nameservers`,
  );
  expect((await verify(child, unknown.name)).body.message).toContain(`${unknown.name} is not in the DNS of its parent`);
});

test("names the hold of a purchased name that the registry does not publish", async () => {
  const { account, name } = await ownedName();
  const seen = async () => {
    const { fault, message } = (await verify(account, name)).body;
    return { fault, message };
  };
  expect(await seen()).toEqual({
    fault: "not_delegated",
    message: expect.stringMatching(/is registered here, and .* You need not do anything/),
  });
  const { registration } = await storedAs(account, name);
  await setStored(account, name, { registration: { ...registration, registrar_status: ["ok", "clientHold"] } });
  expect(await seen()).toEqual({
    fault: "not_delegated",
    message: expect.stringContaining("on hold (clientHold), so it is not in the DNS. Confirm the registrar's e-mail"),
  });
});

test("finds a delegation in the zone of another account's domain, but creates no zone below that zone", async () => {
  const [parent, child, name] = [await newAccount(), await newAccount(), uniqueName()];
  const { name: own, nameservers } = await connected(child, { name: `mail.${name}` });
  await quicklyActive(parent, { name });
  for (const value of nameservers) {
    const body = { domain: name, name: "mail", type: "NS", value };
    await request("POST", `/v1/public/accounts/${parent.id}/dns-records`, { token: parent.owner.token, body });
  }
  expect((await verify(child, own)).body).toMatchObject({
    verified: true,
    status: "pending_delegation",
    message: expect.stringContaining(`Our nameservers hold the DNS of ${name}.`),
  });
});

test("does not ask for a change at the registrar if the name is registered here", async () => {
  const { account, name } = await ownedName();
  await write({ update: registeredNameKey(name), set: { nameservers: elsewhere } });
  const { nameservers } = await storedAs(account, name);
  const message = `${name} is registered here, and we ask its registry to delegate it to ${nameservers.join(" and ")}. You need not do anything. If this takes longer than a day, write to us.`;
  expect((await verify(account, name)).body).toMatchObject({ fault: "other_nameservers", message });
  const { body } = await domainsRequest(account, "GET", `/${name}/health`);
  expect(body.checks[0]).toMatchObject({ name: "ns", status: "fail", message });
});

test("does not verify a domain if its parent zone does not answer, and gives the reason", async () => {
  const [account, nobody] = [await newAccount(), await newAccount()];
  const broken = [uniqueName("lost"), uniqueName("lame")] as const;
  await delegate(testTable(), broken[0], ["ns1.nowhere.example"]);
  await delegated(nobody, broken[1]);
  const reasons = [
    `The delegation could not be checked: the nameservers of ${broken[0]} have no address that can be queried.`,
    `The delegation could not be checked: the nameservers of ${broken[1]} refuse to answer.`,
  ];
  for (const [index, parent] of broken.entries()) {
    const { name } = await connected(account, { name: `mail.${parent}` });
    const { status, body } = await verify(account, name);
    expect([status, body.verified, body.status, body.message]).toEqual([
      200,
      false,
      "pending_delegation",
      reasons[index],
    ]);
  }
});

test("is refused for a domain that is being registered, that failed or that is `releasing`", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await delegated(account, name);
  for (const [domain_status, is_open] of [
    ["pending_registration", true],
    ["failed", false],
    ["releasing", false],
  ] as const) {
    await setStored(account, name, { status: domain_status, is_open });
    expect((await verify(account, name)).body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status });
  }
});
