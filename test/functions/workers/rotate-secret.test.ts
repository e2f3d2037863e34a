import { afterEach, expect, test, vi } from "vitest";

import { handler } from "../../../functions/workers/rotate-secret.ts";
import { amzJson, amzRefusal } from "../../shared/providers/amz-json.ts";
import { startLoopback } from "../../shared/providers/loopback.ts";

afterEach(() => vi.unstubAllEnvs());

type Stored = { text?: string; stages: string[] };

/** Secrets Manager on 127.0.0.1 with a current version `v1`, and a pending version `v2` that has no text yet. */
async function scene(second: Stored = { stages: ["AWSPENDING"] }) {
  const versions: Record<string, Stored> = { v1: { text: "k".repeat(43), stages: ["AWSCURRENT"] }, v2: second };
  const calls: string[] = [];
  const { url } = await startLoopback(
    ({ headers, body }) => {
      const name = String(headers["x-amz-target"]).split(".")[1] ?? "";
      calls.push(name);
      const asked = JSON.parse(body) as Record<string, string>;
      if (name === "DescribeSecret")
        return amzJson({
          VersionIdsToStages: Object.fromEntries(Object.entries(versions).map(([id, { stages }]) => [id, stages])),
        });
      if (name === "PutSecretValue") {
        versions[asked["ClientRequestToken"] ?? ""] = { text: asked["SecretString"] ?? "", stages: ["AWSPENDING"] };
        return amzJson({});
      }
      if (name === "UpdateSecretVersionStage") {
        const [from, to] = [versions[asked["RemoveFromVersionId"] ?? ""], versions[asked["MoveToVersionId"] ?? ""]];
        if (from) from.stages = ["AWSPREVIOUS"];
        if (to) to.stages = ["AWSCURRENT"];
        return amzJson({});
      }
      const found = Object.entries(versions).find(
        ([id, { stages }]) => id === (asked["VersionId"] ?? id) && stages.includes(asked["VersionStage"] ?? ""),
      );
      return found?.[1].text === undefined
        ? amzRefusal({ status: 400, type: "ResourceNotFoundException" })
        : amzJson({ SecretString: found[1].text });
    },
    () => undefined,
  );
  vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url);
  const step = (Step: string) => handler({ SecretId: "mail", ClientRequestToken: "v2", Step });
  return { versions, calls, step };
}

const steps = ["createSecret", "setSecret", "testSecret", "finishSecret"];

test("the four steps make a new key of 256 bits current, and the key before stays as the previous version", async () => {
  const { versions, step } = await scene();
  for (const name of steps) await step(name);
  expect(versions["v2"]).toEqual({ text: expect.stringMatching(/^[\w-]{43}$/), stages: ["AWSCURRENT"] });
  expect(versions["v1"]).toEqual({ text: "k".repeat(43), stages: ["AWSPREVIOUS"] });
});

test("a repeated step changes nothing, also after the last step", async () => {
  const { versions, step } = await scene();
  await step("createSecret");
  const made = versions["v2"]?.text;
  for (const name of steps.flatMap((one) => [one, one])) await step(name);
  for (const name of steps) await step(name);
  expect(versions["v2"]).toEqual({ text: made, stages: ["AWSCURRENT"] });
  expect(versions["v1"]?.stages).toEqual(["AWSPREVIOUS"]);
});

test.each([
  ["the key that is current", "k".repeat(43)],
  ["a short key", "short"],
  ["no key", undefined],
])("a pending version with %s passes `testSecret`, but does not become current", async (_what, text) => {
  const { versions, calls, step } = await scene({ stages: ["AWSPENDING"], ...(text === undefined ? {} : { text }) });
  await step("testSecret");
  await expect(step("finishSecret")).rejects.toThrow("The new version is not a new key.");
  expect(versions["v1"]?.stages).toEqual(["AWSCURRENT"]);
  expect(calls).not.toContain("UpdateSecretVersionStage");
});

test("a version that is not pending is refused, and so is an unknown step", async () => {
  const { step } = await scene({ stages: ["AWSPREVIOUS"], text: "old" });
  await expect(step("finishSecret")).rejects.toThrow("not pending");
  await expect(step("deleteSecret")).rejects.toThrow();
});
