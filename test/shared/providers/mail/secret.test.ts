import { afterEach, expect, test, vi } from "vitest";

import { handler as recipient } from "../../../../functions/mail/recipient.ts";
import { namedSecret, rotatingSecret } from "../../../../shared/providers/named-secret.ts";
import { whereTo } from "../../../support/mail-routes.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { amzJson, amzRefusal } from "../amz-json.ts";
import { startLoopback } from "../loopback.ts";

afterEach(() => vi.unstubAllEnvs());

const stored = Date.parse("2026-03-04T05:06:07.000Z");
const dayMs = 86_400_000;

type Versions = { AWSCURRENT?: string; AWSPREVIOUS?: string };

/** Secrets Manager on 127.0.0.1 until the test ends. `versions` has the versions of the secret by label. */
async function scene(versions: Versions) {
  const service = { versions, ageMs: 0, nowMs: 0, trouble: undefined as { status: number; type: string } | undefined };
  const { url, recorded } = await startLoopback(
    ({ body }) => {
      const { VersionStage = "AWSCURRENT" } = JSON.parse(body) as { VersionStage?: keyof Versions };
      const SecretString = service.versions[VersionStage];
      if (SecretString === undefined) return amzRefusal({ status: 400, type: "ResourceNotFoundException" });
      return amzJson({ SecretString, CreatedDate: stored / 1_000 });
    },
    () => service.trouble && amzRefusal(service.trouble),
  );
  vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url);
  const parse = (text: string): string => {
    if (text.length < 3) throw new Error(text);
    return text;
  };
  const keys = rotatingSecret("mail/servers", parse, "three characters", {
    nowMs: () => service.nowMs,
    now: () => new Date(stored + service.ageMs),
  });
  return Object.assign(service, { keys, recorded });
}

test("a secret that was never rotated has one version", async () => {
  const { keys } = await scene({ AWSCURRENT: "new" });
  expect(await keys()).toEqual(["new"]);
});

test("after a rotation the former version is valid for a day, and the versions are fetched again after five minutes", async () => {
  const service = await scene({ AWSCURRENT: "old" });
  expect(await service.keys()).toEqual(["old"]);
  service.versions = { AWSCURRENT: "new", AWSPREVIOUS: "old" };
  service.nowMs = 299_999;
  expect(await service.keys()).toEqual(["old"]);
  expect(service.recorded).toHaveLength(2);
  service.nowMs = 300_000;
  expect(await service.keys()).toEqual(["new", "old"]);
  service.nowMs = 600_000;
  service.ageMs = dayMs - 1;
  expect(await service.keys()).toEqual(["new", "old"]);
  service.nowMs = 900_000;
  service.ageMs = dayMs;
  expect(await service.keys()).toEqual(["new"]);
});

test("a former version that has no label any more, or a wrong form, is not valid", async () => {
  const service = await scene({ AWSCURRENT: "new", AWSPREVIOUS: "x" });
  expect(await service.keys()).toEqual(["new"]);
  service.versions = { AWSCURRENT: "new" };
  service.nowMs = 300_000;
  expect(await service.keys()).toEqual(["new"]);
});

test("without a current version the former version is not used, and no error shows the stored text", async () => {
  const service = await scene({ AWSPREVIOUS: "old" });
  expect(await thrownBy(service.keys())).toMatchObject({ name: "ResourceNotFoundException" });
  service.versions = { AWSCURRENT: "x", AWSPREVIOUS: "old" };
  const error = await thrownBy(service.keys());
  expect(error).toMatchObject({ message: "The secret mail/servers is not three characters." });
  service.versions = { AWSCURRENT: "new", AWSPREVIOUS: "old" };
  service.trouble = { status: 400, type: "ThrottlingException" };
  expect(await thrownBy(service.keys())).toMatchObject({ code: "upstream_unavailable" });
  service.trouble = undefined;
  expect(await service.keys()).toEqual(["new", "old"]);
});

test("a secret of one version, such as the URL of an SMTP server, is used within five minutes of its change", async () => {
  const service = await scene({ AWSCURRENT: "old" });
  const read = namedSecret("smtp", (text) => text, "a text", { nowMs: () => service.nowMs });
  expect(await Promise.all([read(), read()])).toEqual(["old", "old"]);
  service.versions = { AWSCURRENT: "new", AWSPREVIOUS: "old" };
  service.nowMs = 299_999;
  expect(await read()).toBe("old");
  service.nowMs = 300_000;
  expect(await read()).toBe("new");
  expect(service.recorded).toHaveLength(2);
});

test("a Lambda for mail servers fetches the secret during its init, and the first request fetches nothing", async () => {
  const secret = "a secret of the mail servers";
  const service = await scene({ AWSCURRENT: secret });
  vi.stubEnv("MAIL_SECRET_NAME", "mail/servers");
  await recipient.prime();
  const atInit = service.recorded.length;
  expect(await whereTo("nobody@unknown.example", { "x-mail-key": secret })).toEqual({ status: 200, kind: "unknown" });
  expect([atInit, service.recorded.length]).toEqual([2, 2]);
});
