import { expect, test } from "vitest";

import { storedOf } from "../../support/entry-points.ts";
import { acceptingUrl } from "../../support/webhook-receiver.ts";
import { call } from "../../support/webhooks.ts";
import { newAccount } from "../../support/world.ts";

test("a deleted webhook is gone with its deliveries, and deleting it again is a 404", async () => {
  const account = await newAccount();
  const { id } = (await call(account, "POST", "", { url: await acceptingUrl(), event_types: ["*"] })).body;
  await call(account, "POST", `/${id}/test`);
  expect((await call(account, "DELETE", `/${id}`)).body).toEqual({});
  const attempts = [
    ["GET", `/${id}`],
    ["GET", `/${id}/deliveries`],
    ["POST", `/${id}/test`],
    ["DELETE", `/${id}`],
  ] as const;
  for (const [method, path] of attempts) expect((await call(account, method, path)).status).toBe(404);
  expect((await call(account, "GET", "")).body.total).toBe(0);
  const changes = (await storedOf(account)).filter(({ type }) => type === "webhook.deleted");
  expect(changes).toHaveLength(1);
});
