import { CodeError } from "#client";

import type { Check } from "./run.ts";
import { Skip, expect, type Scene } from "./scene.ts";

/** The program that the checks send in the A2A envelope and by MCP. The program makes a tag and deletes the tag. */
const programOf = ({ path, name }: Scene): string =>
  [
    `made = tags.add(account_id="${path.account_id}", name="${name} in a program")`,
    `tags.delete(account_id="${path.account_id}", tag_id=made.id)`,
  ].join("\n");

const readingProgram = "mine = me.get()\nmine.id";

type Envelope = {
  status: string;
  error?: { code: string; message: string } | undefined;
  responses: { function: string; status: string }[];
};

/** Checks that a program has completed. Throws `Skip` if the token lacks a permission. */
function checkEnvelope(scene: Scene, envelope: Envelope): void {
  if (envelope.status === "completed") return;
  const { code, message } = envelope.error ?? { code: "unknown", message: "the envelope has no error" };
  if (code === "forbidden") throw new Skip("the token lacks a permission that the program needs");
  throw new Error(`the program ended ${envelope.status}: ${code}: ${message}`);
}

/** Deletes a tag that an interrupted program left behind. Finds the tag by its name among the first 100 tags. */
async function removeTags({ api, path, name }: Scene): Promise<void> {
  const { items } = await api.tags.list({ ...path, page_size: 100 });
  for (const { id, name: tagName } of items) {
    if (tagName === `${name} in a program`) await api.tags.delete({ ...path, tag_id: id });
  }
}

async function runProgram({ api, name }: Scene, code: string): Promise<Envelope> {
  try {
    return await api.code(code, { session_id: name });
  } catch (error) {
    if (error instanceof CodeError) return error.answer;
    throw error;
  }
}

type McpAnswer = {
  result?: { isError?: boolean; content: { text: string }[] };
  error?: { message: string };
};

async function callTool(scene: Scene, name: string, code: string): Promise<Envelope> {
  const response = await scene.askAs("/v1/public/mcp", {
    method: "POST",
    headers: { "content-type": "application/json", "mcp-protocol-version": "2025-11-25" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: { code } } }),
  });
  expect(response.ok, `the answer is ${response.status}`);
  const { result, error } = (await response.json()) as McpAnswer;
  if (!result) throw new Error(`MCP answered with an error: ${error?.message ?? "no message"}`);
  return JSON.parse(result.content[0]?.text ?? "{}") as Envelope;
}

/** The checks of code mode that only read, through the A2A envelope and MCP. */
export const programReads: readonly Check[] = [
  {
    name: "code mode: a program that reads",
    run: async (scene) => checkEnvelope(scene, await runProgram(scene, readingProgram)),
  },
  {
    name: "code mode: a program with a mistake does nothing",
    run: async (scene) => {
      const { status, responses } = await runProgram(scene, `${readingProgram}\nme.gett()`);
      expect(status === "failed" && responses.every((one) => one.status !== "completed"), "the program ran");
    },
  },
  {
    name: "mcp: service_query",
    run: async (scene) => checkEnvelope(scene, await callTool(scene, "service_query", readingProgram)),
  },
];

const writingCheck = (name: string, send: (scene: Scene, code: string) => Promise<Envelope>): Check => ({
  name,
  writes: true,
  run: async (scene) => {
    const removeNow = scene.registerRemoval("a tag of a program", () => removeTags(scene));
    const envelope = await send(scene, programOf(scene));
    // A completed program has deleted its tag.
    if (envelope.status === "completed") scene.leftovers.pop();
    else await removeNow();
    checkEnvelope(scene, envelope);
  },
});

/** The checks of code mode that write, through the A2A envelope and MCP. */
export const programWrites: readonly Check[] = [
  writingCheck("code mode: a program that writes", runProgram),
  writingCheck("mcp: service_execute", (scene, code) => callTool(scene, "service_execute", code)),
];
