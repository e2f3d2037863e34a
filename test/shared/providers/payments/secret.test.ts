import { afterEach, expect, test, vi } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { paymentsSecret } from "../../../../shared/providers/payments/stripe.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { amzJson, amzRefusal, type Trouble } from "../amz-json.ts";
import { startLoopback } from "../loopback.ts";

afterEach(() => void vi.unstubAllEnvs());

/**
 * Secrets Manager on 127.0.0.1 until the test ends. `value` is the current version of the secret, which was created
 * just now, and `former` is the version before. While `trouble` is set, each request has this fault.
 */
async function scene(value: string, trouble?: Trouble) {
  const service: { value: string; former?: string; trouble?: Trouble | undefined } = { value, trouble };
  const { url, recorded } = await startLoopback(
    ({ body }) => {
      const text = body.includes("AWSPREVIOUS") ? service.former : service.value;
      if (text === undefined) return amzRefusal({ status: 400, type: "ResourceNotFoundException" });
      return amzJson({ SecretString: text, CreatedDate: Date.now() / 1_000 });
    },
    () => (typeof service.trouble === "object" ? amzRefusal(service.trouble) : service.trouble),
  );
  vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url);
  return Object.assign(service, { recorded });
}

const stored = (key: string): string => JSON.stringify({ api_key: `sk_${key}`, webhook_secret: `whsec_${key}` });

test("the secret is read by its name, with a signed request", async () => {
  const { recorded } = await scene(stored("1"));
  expect(await paymentsSecret("payments/live")()).toEqual({ apiKey: "sk_1", webhookSecrets: ["whsec_1"] });
  expect(recorded).toHaveLength(2);
  expect(recorded[0]).toMatchObject({
    headers: {
      "x-amz-target": "secretsmanager.GetSecretValue",
      authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=\S+\/local\/secretsmanager\/aws4_request/),
    },
  });
  expect(JSON.parse(recorded[0]?.body ?? "")).toMatchObject({ SecretId: "payments/live" });
});

test("many concurrent reads fetch the secret once, and it is fetched again after 5 minutes", async () => {
  const service = await scene(stored("1"));
  let nowMs = 0;
  const secret = paymentsSecret("payments", { nowMs: () => nowMs });
  await Promise.all(Array.from({ length: 20 }, () => secret()));
  service.value = stored("2");
  nowMs = 299_999;
  expect(await secret()).toMatchObject({ apiKey: "sk_1" });
  expect(service.recorded).toHaveLength(2);
  nowMs = 300_000;
  expect(await secret()).toMatchObject({ apiKey: "sk_2" });
  expect(service.recorded).toHaveLength(4);
});

test("after a rotation the new API key is used within 5 minutes, and both webhook secrets are valid", async () => {
  const service = await scene(stored("1"));
  let nowMs = 0;
  const secret = paymentsSecret("payments", { nowMs: () => nowMs });
  expect(await secret()).toEqual({ apiKey: "sk_1", webhookSecrets: ["whsec_1"] });
  Object.assign(service, { value: stored("2"), former: stored("1") });
  nowMs = 300_000;
  expect(await secret()).toEqual({ apiKey: "sk_2", webhookSecrets: ["whsec_2", "whsec_1"] });
});

test.each<Trouble>([{ status: 400, type: "ThrottlingException" }, "silence"])(
  "a service with the fault %j causes a 503, and the next call asks again",
  async (trouble) => {
    const service = await scene(stored("1"), trouble);
    const secret = paymentsSecret("payments", { requestTimeoutMs: 200 });
    expect(await thrownBy(secret())).toMatchObject({ code: "upstream_unavailable", status: 503 });
    expect(service.recorded.length).toBeGreaterThanOrEqual(3);
    service.trouble = undefined;
    expect(await paymentsSecret("payments")()).toMatchObject({ apiKey: "sk_1" });
    expect(await secret()).toMatchObject({ apiKey: "sk_1" });
  },
);

test.each(["ResourceNotFoundException", "AccessDeniedException"])(
  "%s is our own mistake, so it causes no 503",
  async (type) => {
    const service = await scene(stored("1"), { status: 400, type });
    const error = await thrownBy(paymentsSecret("payments")());
    expect(error).toMatchObject({ name: type });
    expect(error).not.toBeInstanceOf(Problem);
    // One call for each version, and none is repeated.
    expect(service.recorded.length).toBeLessThanOrEqual(2);
  },
);

test.each(['sk_live_abc"', '{"api_key":"sk_live_abc"}', '{"api_key":"","webhook_secret":"sk_live_abc"}', ""])(
  "the error for a secret with the content %j names the fault and does not show the content",
  async (value) => {
    await scene(value);
    const error = await thrownBy(paymentsSecret("payments")());
    expect(error).toMatchObject({
      message: expect.stringContaining("The secret payments is not JSON with an api_key"),
    });
    expect(String((error as Error).stack) + JSON.stringify(error)).not.toContain("sk_live");
  },
);
