import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";

import { newSecret, sign } from "../../../shared/webhooks/signing.ts";

const body = '{"type":"workspace.created","data":{"name":"Büro 📮"}}';
const verified = (secret: string, payload: string, headers: Record<string, string>): boolean => {
  try {
    new Webhook(secret).verify(payload, headers);
    return true;
  } catch {
    return false;
  }
};

test("a new secret is whsec_ and 32 random bytes in base64", () => {
  const secrets = new Set(Array.from({ length: 100 }, newSecret));
  expect(secrets.size).toBe(100);
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), "base64")).toHaveLength(32);
  }
});

test("the official library verifies a signed delivery with its secret, and with no other secret", () => {
  const secret = newSecret();
  const headers = sign([secret], "msg_1", new Date(), body);
  expect(verified(secret, body, headers)).toBe(true);
  expect(verified(newSecret(), body, headers)).toBe(false);
});

test("a signature is the same as by the official library", () => {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const at = new Date(1_614_265_330_999);
  expect(sign([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", at, '{"test": 2432232314}')).toEqual({
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": new Webhook(secret).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, '{"test": 2432232314}'),
  });
});

test("during the rotation of a secret, either secret verifies a delivery", () => {
  const [before, after] = [newSecret(), newSecret()];
  const headers = sign([after, before], "msg_1", new Date(), body);
  expect(headers["webhook-signature"].split(" ")).toHaveLength(2);
  expect([before, after, newSecret()].map((secret) => verified(secret, body, headers))).toEqual([true, true, false]);
});

test("a changed body, id, timestamp or signature does not verify", () => {
  const secret = newSecret();
  const headers = sign([secret], "msg_1", new Date(), body);
  const later = String(Number(headers["webhook-timestamp"]) + 1);
  expect(verified(secret, `${body} `, headers)).toBe(false);
  expect(verified(secret, body, { ...headers, "webhook-id": "msg_2" })).toBe(false);
  expect(verified(secret, body, { ...headers, "webhook-timestamp": later })).toBe(false);
  expect(verified(secret, body, { ...headers, "webhook-signature": "v1,AAAA" })).toBe(false);
});

test("receivers refuse signatures that are more than five minutes old", () => {
  const secret = newSecret();
  const ago = (seconds: number) => sign([secret], "msg_1", new Date(Date.now() - seconds * 1_000), body);
  expect(verified(secret, body, ago(240))).toBe(true);
  expect(verified(secret, body, ago(360))).toBe(false);
});

test("`sign` throws if there is no secret", () => {
  expect(() => sign([], "msg_1", new Date(), body)).toThrow("unsigned");
});
