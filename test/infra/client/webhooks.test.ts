import { expect, test } from "vitest";

import { HostedMail, verifyWebhook, WebhookVerificationError } from "#client";

import { newSecret, sign } from "../../../shared/webhooks/signing.ts";

const { webhooks } = new HostedMail({ baseUrl: "https://api.example.com" });
const event = { id: "e", type: "workspace.created", data: { name: "Büro 📮" } };
const body = JSON.stringify(event);
const [old, current] = [newSecret(), newSecret()];
const refused = { name: "WebhookVerificationError" };

test.each([
  ["a string", body, current],
  ["bytes", new TextEncoder().encode(body), current],
  ["an ArrayBuffer, with several secrets", new TextEncoder().encode(body).buffer, [old, current]],
])("`verify` returns the event of a delivery, from %s", async (_, sent, secret) => {
  const headers = sign([current], "msg_1", new Date(), body);
  expect(await webhooks.verify(sent, headers, secret)).toEqual(event);
  expect(await webhooks.verify(sent, new Headers(headers), secret)).toEqual(event);
});

test("`verifyWebhook` verifies a delivery without a client", async () => {
  expect(await verifyWebhook(body, sign([current], "msg_1", new Date(), body), current)).toEqual(event);
});

test("while a secret is rotated, the old one and the new one verify", async () => {
  const headers = sign([current, old], "msg_1", new Date(), body);
  for (const secret of [current, old]) expect(await webhooks.verify(body, headers, secret)).toEqual(event);
  await expect(webhooks.verify(body, headers, newSecret())).rejects.toMatchObject(refused);
});

test("a changed body, id, time or signature is refused", async () => {
  const headers = sign([current], "msg_1", new Date(), body);
  const later = String(Number(headers["webhook-timestamp"]) + 1);
  const { "webhook-id": _, ...withoutId } = headers;
  const wrong: [string, Record<string, string>][] = [
    [`${body} `, headers],
    [body, { ...headers, "webhook-id": "msg_2" }],
    [body, { ...headers, "webhook-timestamp": later }],
    [body, { ...headers, "webhook-signature": "v1,AAAA v2,x v1,%" }],
    [body, withoutId],
  ];
  for (const [sent, given] of wrong) {
    await expect(webhooks.verify(sent, given, current)).rejects.toBeInstanceOf(WebhookVerificationError);
  }
});

test.each([-301, 301])("a time that is off by %d seconds is refused, unless more is tolerated", async (seconds) => {
  const headers = sign([current], "msg_1", new Date(Date.now() + seconds * 1000), body);
  await expect(webhooks.verify(body, headers, current)).rejects.toMatchObject(refused);
  expect(await webhooks.verify(body, headers, current, { toleranceSeconds: 400 })).toEqual(event);
});

test("a time that is not a number is refused", async () => {
  const headers = { ...sign([current], "msg_1", new Date(), body), "webhook-timestamp": "now" };
  const message = expect.stringContaining("time is not a number");
  await expect(webhooks.verify(body, headers, current)).rejects.toMatchObject({ ...refused, message });
});

test("a secret with a wrong form throws a TypeError", async () => {
  const headers = sign([current], "msg_1", new Date(), body);
  await expect(webhooks.verify(body, headers, "whsec_%%%")).rejects.toThrow(TypeError);
});
