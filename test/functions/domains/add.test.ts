import { expect, test } from "vitest";

import { connected, domainsRequest, uniqueName } from "../../support/domains.ts";
import { newAccount } from "../../support/world.ts";

test("connects a domain", async () => {
  const account = await newAccount();
  const domain = await connected(account);
  const read = await domainsRequest(account, "GET", `/${domain.name}`);
  console.log(read.text);
  expect(read.status).toBe(200);
});
