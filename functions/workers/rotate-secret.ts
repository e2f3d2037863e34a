import { randomBytes } from "node:crypto";

import type * as SecretsManager from "@aws-sdk/client-secrets-manager";
import * as z from "zod";

const RotationEvent = z.object({
  SecretId: z.string(),
  /** The id of the new version. */
  ClientRequestToken: z.string(),
  Step: z.enum(["createSecret", "setSecret", "testSecret", "finishSecret"]),
});
type RotationEvent = z.output<typeof RotationEvent>;

const timeouts = { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true };

type Sdk = typeof SecretsManager;
type Client = SecretsManager.SecretsManagerClient;

/**
 * Makes a new version of a secret whose value is a random text, such as the key of the mail servers. Secrets Manager
 * calls this function once for each of the four steps, and again after a failure. A repeated step changes nothing.
 */
export async function handler(event: unknown): Promise<void> {
  const rotation = RotationEvent.parse(event);
  const sdk = await import("@aws-sdk/client-secrets-manager");
  const client = new sdk.SecretsManagerClient({ requestHandler: timeouts });
  try {
    await takeStep(rotation, client, sdk);
  } finally {
    client.destroy();
  }
}

async function takeStep(rotation: RotationEvent, client: Client, sdk: Sdk): Promise<void> {
  const { SecretId, ClientRequestToken: newVersion, Step } = rotation;
  const { VersionIdsToStages: stages = {} } = await client.send(new sdk.DescribeSecretCommand({ SecretId }));
  if (stages[newVersion] === undefined)
    throw new Error("The secret has no such version. Secrets Manager makes it first.");
  if (stages[newVersion].includes("AWSCURRENT")) return;
  if (!stages[newVersion].includes("AWSPENDING"))
    throw new Error("The version is not pending, so it cannot be rotated.");
  if (Step === "createSecret") await createVersion(rotation, client, sdk);
  // `setSecret` does nothing, because no other service keeps the secret. The functions that use the secret read it
  // again by themselves. `testSecret` does nothing either, and leaves the check of the new text to
  // `finishSecret`. When the rotation is switched on, Secrets Manager calls only `testSecret`, with a pending version
  // that has the current text or no text. The check would refuse this version.
  if (Step !== "finishSecret") return;
  await requireNewKey(rotation, client, sdk);
  const current = Object.keys(stages).find((version) => stages[version]?.includes("AWSCURRENT"));
  const move = { VersionStage: "AWSCURRENT", MoveToVersionId: newVersion };
  const from = current === undefined ? {} : { RemoveFromVersionId: current };
  await client.send(new sdk.UpdateSecretVersionStageCommand({ SecretId, ...move, ...from }));
}

/** The text of a version; undefined if the version has no text yet. */
async function secretText(SecretId: string, version: object, client: Client, sdk: Sdk): Promise<string | undefined> {
  try {
    const { SecretString } = await client.send(new sdk.GetSecretValueCommand({ SecretId, ...version }));
    return SecretString;
  } catch (error) {
    if (error instanceof sdk.ResourceNotFoundException) return undefined;
    throw error;
  }
}

const pending = ({ ClientRequestToken: VersionId }: RotationEvent) => ({ VersionId, VersionStage: "AWSPENDING" });

/** Stores 256 random bits as the new version, unless an earlier call has stored the new version. */
async function createVersion(rotation: RotationEvent, client: Client, sdk: Sdk): Promise<void> {
  const { SecretId, ClientRequestToken } = rotation;
  if ((await secretText(SecretId, pending(rotation), client, sdk)) !== undefined) return;
  const SecretString = randomBytes(32).toString("base64url");
  const VersionStages = ["AWSPENDING"];
  await client.send(new sdk.PutSecretValueCommand({ SecretId, ClientRequestToken, SecretString, VersionStages }));
}

/** Throws if the new version is missing, too short, or the same as the current version. */
async function requireNewKey(rotation: RotationEvent, client: Client, sdk: Sdk): Promise<void> {
  const [text, current] = await Promise.all([
    secretText(rotation.SecretId, pending(rotation), client, sdk),
    secretText(rotation.SecretId, { VersionStage: "AWSCURRENT" }, client, sdk),
  ]);
  if (text === undefined || text.length < 32 || text === current) throw new Error("The new version is not a new key.");
}
