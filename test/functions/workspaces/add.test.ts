import { expect, test } from "vitest";

import { request } from "../../support/request.ts";
import { newAccount } from "../../support/world.ts";

test("creates a workspace that can be read at its Location at once", async () => {
  const { id, owner } = await newAccount();
  const created = await request("POST", `/v1/public/accounts/${id}/workspaces`, {
    token: owner.token,
    body: { name: "  Sales " },
  });
  expect(created.body).toMatchObject({ name: "Sales", status: "active", account_id: id });
  expect(created.status).toBe(201);
  const read = await request("GET", created.headers["location"] ?? "", { token: owner.token });
  expect(read.body).toEqual(created.body);
});
