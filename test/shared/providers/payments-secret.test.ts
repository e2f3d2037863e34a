import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";

import { expect, onTestFinished, test, vi } from "vitest";

import { Problem } from "../../../shared/errors.ts";
import { paymentsSecret } from "../../../shared/providers/payments-secret.ts";

type Trouble = { status: number; type: string } | "silence";
type Recorded = { headers: IncomingMessage["headers"]; body: unknown };

/** Secrets Manager on 127.0.0.1 (AWS JSON 1.1) until the test is over, with `troubles` first. */
async function scene(value: string, ...troubles: Trouble[]) {
  const service = { value, recorded: [] as Recorded[] };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    service.recorded.push({ headers: request.headers, body: await json(request) });
    const trouble = troubles.shift();
    if (trouble === "silence") return;
    const body = trouble ? { __type: trouble.type, message: "In trouble" } : { SecretString: service.value };
    response.writeHead(trouble?.status ?? 200, { "content-type": "application/x-amz-json-1.1" });
    response.end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", `http://127.0.0.1:${address.port}`);
  return service;
}

const stored = (key: string): string => JSON.stringify({ api_key: `sk_${key}`, webhook_secret: `whsec_${key}` });

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "nothing",
    (error: unknown) => error,
  );

test("reads the named secret, by a signed request", async () => {
  const { recorded } = await scene(stored("1"));
  expect(await paymentsSecret("payments/live")()).toEqual({ apiKey: "sk_1", webhookSecret: "whsec_1" });
  expect(recorded).toHaveLength(1);
  expect(recorded[0]).toMatchObject({
    headers: {
      "x-amz-target": "secretsmanager.GetSecretValue",
      authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 Credential=\S+\/local\/secretsmanager\/aws4_request/),
    },
    body: { SecretId: "payments/live" },
  });
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
