import { expect, test, vi } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { paymentsSecret } from "../../../../shared/providers/payments/stripe.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { amzJson, amzRefusal, type Trouble } from "../amz-json.ts";
import { startLoopback } from "../loopback.ts";

/** Secrets Manager on 127.0.0.1 until the test is over, with `troubles` first. */
async function scene(value: string, ...troubles: Trouble[]) {
  const stored = { value };
  const { url, recorded } = await startLoopback(
    () => amzJson({ SecretString: stored.value }),
    () => {
      const trouble = troubles.shift();
      return typeof trouble === "object" ? amzRefusal(trouble) : trouble;
    },
  );
  vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url);
  return Object.assign(stored, { recorded });
}

const stored = (key: string): string => JSON.stringify({ api_key: `sk_${key}`, webhook_secret: `whsec_${key}` });

test("reads the named secret, by a signed request", async () => {
  const { recorded } = await scene(stored("1"));
  expect(await paymentsSecret("payments/live")()).toEqual({ apiKey: "sk_1", webhookSecret: "whsec_1" });
  expect(recorded).toHaveLength(1);
  expect(recorded[0]).toMatchObject({
    headers: {
      "x-amz-target": "secretsmanager.GetSecretValue",
      authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=\S+\/local\/secretsmanager\/aws4_request/),
    },
  });
  expect(JSON.parse(recorded[0]?.body ?? "")).toMatchObject({ SecretId: "payments/live" });
});

test("asks once for many at the same time, and again after 5 minutes", async () => {
  const service = await scene(stored("1"));
  let nowMs = 0;
  const secret = paymentsSecret("payments", { nowMs: () => nowMs });
  await Promise.all(Array.from({ length: 20 }, () => secret()));
  service.value = stored("2");
  nowMs = 299_999;
  expect(await secret()).toMatchObject({ apiKey: "sk_1" });
  expect(service.recorded).toHaveLength(1);
  nowMs = 300_000;
  expect(await secret()).toMatchObject({ apiKey: "sk_2" });
  expect(service.recorded).toHaveLength(2);
});

test("three attempts, then 503, while the service is silent or throttles; the next call asks anew", async () => {
  const throttle = { status: 400, type: "ThrottlingException" };
  const service = await scene(stored("1"), throttle, "silence", throttle);
  const secret = paymentsSecret("payments", { requestTimeoutMs: 30 });
  expect(await thrownBy(secret())).toMatchObject({ code: "upstream_unavailable", status: 503 });
  expect(service.recorded).toHaveLength(3);
  expect(await secret()).toMatchObject({ apiKey: "sk_1" });
});

test.each(["ResourceNotFoundException", "AccessDeniedException"])("%s is our own mistake: no 503", async (type) => {
  const service = await scene(stored("1"), { status: 400, type });
  const error = await thrownBy(paymentsSecret("payments")());
  expect(error).toMatchObject({ name: type });
  expect(error).not.toBeInstanceOf(Problem);
  expect(service.recorded).toHaveLength(1);
});

test.each(['sk_live_abc"', '{"api_key":"sk_live_abc"}', '{"api_key":"","webhook_secret":"sk_live_abc"}', ""])(
  "a secret that holds %j says what is wrong, and nothing of what it holds",
  async (value) => {
    await scene(value);
    const error = await thrownBy(paymentsSecret("payments")());
    expect(error).toMatchObject({
      message: expect.stringContaining("The secret payments is not JSON with an api_key"),
    });
    expect(String((error as Error).stack) + JSON.stringify(error)).not.toContain("sk_live");
  },
);
