import { expect, test } from "vitest";

import { call } from "../../support/webhooks.ts";
import { newAccount } from "../../support/world.ts";

test("shows the webhook without its secret, and answers 404 for an unknown id", async () => {
  const account = await newAccount();
  const { secret, ...webhook } = (await call(account, "POST", "", { url: "https://example.com/", event_types: ["*"] }))
    .body;
  const read = await call(account, "GET", `/${webhook.id}`);
  expect(read.body).toEqual(webhook);
  expect(read.text).not.toContain(secret);
  const forged = `${webhook.id.slice(0, -1)}${webhook.id.endsWith("0") ? "1" : "0"}`;
  for (const id of [forged, account.id]) expect((await call(account, "GET", `/${id}`)).status).toBe(404);
});
