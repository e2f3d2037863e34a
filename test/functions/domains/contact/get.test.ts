import { expect, test } from "vitest";

import { connected, contact, domainsRequest } from "../../../support/domains.ts";
import { ownedName } from "../../../support/renewals.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember } from "../../../support/world.ts";

test("reads the contact of a purchase from the registrar", async () => {
  const { account, name } = await ownedName();
  const { status, body } = await domainsRequest(account, "GET", `/${name}/contact`);
  expect([status, body]).toEqual([200, { ...contact, address_2: null, change: null }]);
});

test("refuses a name that was not purchased here", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  expect((await domainsRequest(account, "GET", `/${name}/contact`)).body).toMatchObject({
    status: 409,
    code: "not_registered_here",
  });
});

test("a viewer of the domain cannot read the contact", async () => {
  const { account, name } = await ownedName();
  const { token } = await newMember(account, { role: "viewer" });
  const answer = await request("GET", `/v1/public/accounts/${account.id}/domains/${name}/contact`, { token });
  expect([answer.status, answer.body.required_capability]).toEqual([403, "domain.purchase"]);
});
