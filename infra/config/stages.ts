import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { BadConfig, settingFrom, readConfig, type Config } from "./config.ts";
import type { StageSettings } from "./settings.ts";

const folder = join(import.meta.dirname, "../stages");

/** The stages that have a file of their own. */
export const stageNames = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => name.slice(0, -".ts".length));

/**
 * Reads the configuration of a stage from its file `infra/stages/<stage>.ts`. The CDK context or the environment names
 * the stage, by default `dev`. Throws `BadConfig` if the stage has no file: a misspelt name would otherwise deploy a
 * second product.
 */
export async function readStage(
  context: (key: string) => unknown,
  env: Record<string, string | undefined>,
): Promise<Config> {
  const stage = settingFrom("stage", context, env) ?? "dev";
  const stages = stageNames();
  if (typeof stage !== "string" || !stages.includes(stage)) {
    throw new BadConfig(
      `There is no stage ${JSON.stringify(stage)}. infra/stages contains ${stages.join(", ")}. Copy example.ts to create a stage.`,
    );
  }
  const { settings } = (await import(pathToFileURL(join(folder, `${stage}.ts`)).href)) as { settings: StageSettings };
  return readConfig(context, env, settings);
}
