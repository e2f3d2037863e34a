import { afterEach, expect, test, vi } from "vitest";

import type * as Authorizer from "../../../../functions/origin-authorizer.ts";
import { amzJson, amzRefusal } from "../../../shared/providers/amz-json.ts";
import { startLoopback } from "../../../shared/providers/loopback.ts";

afterEach(() => vi.unstubAllEnvs());

let started = 0;

/** A freshly loaded authorizer, with Secrets Manager on 127.0.0.1. */
async function authorizer(secret: string | undefined) {
  const { url, recorded } = await startLoopback(
    () =>
      secret === undefined
        ? amzRefusal({ status: 400, type: "ResourceNotFoundException" })
        : amzJson({ SecretString: secret }),
    () => undefined,
  );
  vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url);
  vi.stubEnv("ORIGIN_SECRET_NAME", "hosted-mail/origin");
  const fresh = `../../../../functions/origin-authorizer.ts?start=${started++}`;
  const { handler } = (await import(fresh)) as typeof Authorizer;
  return { recorded, ask: (headers: Record<string, string>) => handler({ headers }) };
}

const [first, second] = ["1".repeat(32), "2".repeat(32)];
const both = JSON.stringify({ first, second });

test("a request with any of the secret's values is accepted, so that one value can be changed while the other is used", async () => {
  const { ask, recorded } = await authorizer(both);
  expect(await ask({ "x-origin-secret": first })).toEqual({ isAuthorized: true });
  expect(await ask({ "x-origin-secret": second })).toEqual({ isAuthorized: true });
  expect(recorded).toHaveLength(1);
  expect(JSON.parse(recorded[0]?.body ?? "")).toMatchObject({ SecretId: "hosted-mail/origin" });
});

test.each([{}, { "x-origin-secret": "" }, { "x-origin-secret": "1".repeat(31) }, { "x-origin-secret": `${first}1` }])(
  "a request with the headers %j is refused",
  async (headers) => {
    const { ask } = await authorizer(both);
    expect(await ask(headers as Record<string, string>)).toEqual({ isAuthorized: false });
  },
);

test.each(["{}", JSON.stringify({ first: "short" }), "1".repeat(32), undefined])(
  "with the secret %j no request is accepted, and no error contains the text of the secret",
  async (secret) => {
    const { ask } = await authorizer(secret);
    const answer = await ask({ "x-origin-secret": "1".repeat(32) }).catch((error: Error) => error.message);
    if (typeof answer === "string") expect(answer).not.toContain("1".repeat(32));
    else expect(answer).toEqual({ isAuthorized: false });
  },
);
