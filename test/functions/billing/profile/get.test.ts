import { expect, test } from "vitest";

import { billing } from "../../../support/billing.ts";
import { newAccount } from "../../../support/world.ts";

test("returns the profile of only this account", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  await billing(account, "PATCH", "profile", { name: "Example Ltd", country: "IE" });
  expect((await billing(account, "GET", "profile")).body).toMatchObject({ name: "Example Ltd", country: "IE" });
  expect((await billing(other, "GET", "profile")).body).toMatchObject({ name: null, country: null });
});
