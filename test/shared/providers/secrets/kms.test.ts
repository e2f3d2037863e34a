import { afterEach, expect, test, vi } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import { secretsOf } from "../../../../shared/providers/secrets/factory.ts";
import { kmsSecrets } from "../../../../shared/providers/secrets/kms.ts";
import { thrownBy } from "../../../support/thrown.ts";
import type { Trouble } from "../amz-json.ts";
import { startKeyService } from "../key-service.ts";
import { loadingOf } from "../lazy-loading.ts";

afterEach(() => void vi.unstubAllEnvs());

const context = { account_id: "a1", webhook_id: "w1" };

async function scene(...troubles: Trouble[]) {
  const service = await startKeyService(...troubles);
  vi.stubEnv("AWS_ENDPOINT_URL_KMS", service.url);
  return { ...service, secrets: secretsOf({ SECRETS_KEY_ID: "key-1" }) };
}

test("KMS opens a sealed secret only with the same context", async () => {
  const { secrets } = await scene();
  const sealed = await secrets.seal("whsec_Grüße", context);
  expect(sealed).toMatch(/^kms1:[A-Za-z0-9+/]+=*$/);
  expect(await secrets.open(sealed, context)).toBe("whsec_Grüße");
  await expect(secrets.open(sealed, { ...context, account_id: "a2" })).rejects.toThrow("cannot be opened");
});

test("the calls of KMS have the context and a SigV4 signature, and only the encryption names the key", async () => {
  const { secrets, recorded } = await scene();
  await secrets.open(await secrets.seal("hush", context), context);
  const [encrypt, decrypt] = recorded;
  expect(encrypt?.headers).toMatchObject({
    "x-amz-target": "TrentService.Encrypt",
    "content-type": "application/x-amz-json-1.1",
    authorization: expect.stringMatching(
      /^AWS4-HMAC-SHA256 Credential=\S+\/local\/kms\/aws4_request, SignedHeaders=\S+, Signature=[0-9a-f]{64}$/,
    ),
  });
  expect(JSON.parse(encrypt?.body ?? "")).toEqual({
    KeyId: "key-1",
    Plaintext: Buffer.from("hush").toString("base64"),
    EncryptionContext: context,
  });
  expect(decrypt?.headers).toMatchObject({
    "x-amz-target": "TrentService.Decrypt",
    authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 /),
  });
  // The call names no key, because the ciphertext names its key. So a secret of a former key can also be opened.
  expect(JSON.parse(decrypt?.body ?? "")).toEqual({
    CiphertextBlob: expect.any(String),
    EncryptionContext: context,
  });
});

test("a call that is throttled once is sent again", async () => {
  const { secrets, recorded } = await scene({ status: 400, type: "ThrottlingException" });
  expect(await secrets.open(await secrets.seal("hush", context), context)).toBe("hush");
  expect(recorded).toHaveLength(3);
});

test.each<[string, Trouble]>([
  ["throttles", { status: 400, type: "ThrottlingException" }],
  ["has an internal failure", { status: 500, type: "KMSInternalException" }],
  ["cannot use the key now", { status: 500, type: "KeyUnavailableException" }],
])("a 503 is thrown after three attempts if KMS %s", async (_what, trouble) => {
  const { secrets, recorded } = await scene(trouble, trouble, trouble, trouble);
  const error = await thrownBy(secrets.seal("hush", context));
  expect(error).toMatchObject({ code: "upstream_unavailable", status: 503, extras: { retry_after: 2 } });
  expect(recorded).toHaveLength(3);
});

test("a 503 is thrown after three attempts if KMS does not answer", async () => {
  const { recorded } = await scene("silence", "silence", "silence", "silence");
  const error = await thrownBy(kmsSecrets("key-1", 30).open("kms1:AAAA", context));
  expect(error).toMatchObject({ code: "upstream_unavailable" });
  expect(recorded).toHaveLength(3);
});

test("a 503 is thrown if KMS cannot be reached", async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_KMS", "http://127.0.0.1:1");
  const error = await thrownBy(kmsSecrets("key-1").seal("hush", context));
  expect(error).toMatchObject({ code: "upstream_unavailable" });
});

test.each(["AccessDeniedException", "NotFoundException", "DisabledException"])(
  "%s is our own mistake, so it causes no 503 and no second attempt",
  async (type) => {
    const { secrets, recorded } = await scene({ status: 400, type });
    const error = await thrownBy(secrets.seal("hush", context));
    expect(error).toMatchObject({ name: type });
    expect(error).not.toBeInstanceOf(Problem);
    expect(recorded).toHaveLength(1);
  },
);

test("a wrong ciphertext cannot be opened, and the call is not repeated", async () => {
  const { secrets, recorded } = await scene();
  await expect(secrets.open("kms1:AAAA", context)).rejects.toThrow("cannot be opened");
  expect(recorded).toHaveLength(1);
});

test("a text that was sealed without KMS is not sent to KMS", async () => {
  const { secrets, recorded } = await scene();
  await expect(secrets.open("aes1:AAAA", context)).rejects.toThrow("cannot be opened");
  expect(recorded).toEqual([]);
});

test("the SDK is loaded only at the first use of the secrets", () => {
  const loading = loadingOf("secrets/factory.ts", {
    modules: /client-kms/,
    make: 'provider.secretsOf({ SECRETS_KEY_ID: "key-1" })',
    use: 'made.open("aes1:AAAA", {})',
    env: { AWS_REGION: "local" },
  });
  expect(loading).toEqual({ before: 0, after: true, failure: expect.stringContaining("cannot be opened") });
});
