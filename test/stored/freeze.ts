import { randomBytes } from "node:crypto";

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { expect, test } from "vitest";

import { useOwnTable } from "../support/own-table.ts";
import { newSuperAdmin } from "../support/world.ts";
import { allItems, writeEdition } from "./edition.ts";
import { storeEverything } from "./scene.ts";

const name = process.env["EDITION"];

test("freezes the rows that this edition stores", { timeout: 300_000 }, async () => {
  if (!name || !/^[a-z0-9-]+$/.test(name)) throw new Error("Name the edition: EDITION=second-edition");
  await useOwnTable();
  const secretsKey = randomBytes(32).toString("base64");
  process.env["SECRETS_KEY"] = secretsKey;
  const { id: superAdminId } = await newSuperAdmin();
  const { calls, facts } = await storeEverything();
  const items = await allItems(DynamoDBDocumentClient.from(new DynamoDBClient()), process.env["TABLE_NAME"] ?? "");
  expect(items.length).toBeGreaterThan(calls.length);
  writeEdition(name, { frozenAt: new Date().toISOString(), secretsKey, superAdminId, calls, facts, items });
});
