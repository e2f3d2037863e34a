import type { Response } from "../../../../shared/answer.ts";
import { errorCodes, failure, result, type Call } from "../json-rpc.ts";
import { legacyRevisions } from "./mcp-era.ts";
import { capabilities, instructions, serverInfo } from "./mcp-server.ts";
import { tools } from "./tool.ts";

/** What revisions 2025-11-25, 2025-06-18 and 2025-03-26 ask for, but for calls of tools. */
export const legacyMethods: ReadonlyMap<string, (call: Call) => Response> = new Map([
  ["initialize", initialize],
  ["ping", ({ id }: Call) => result(id, {})],
  ["tools/list", ({ id }: Call) => result(id, { tools: tools() })],
]);

/** The client's revision when it is known here, else the newest of these: the client then stays or leaves. */
function initialize({ id, params }: Call): Response {
  const { protocolVersion: asked } = params;
  if (typeof asked !== "string") return failure(id, errorCodes.invalidParams, "protocolVersion is a string");
  const protocolVersion = legacyRevisions.find((known) => known === asked) ?? legacyRevisions[0];
  return result(id, { protocolVersion, capabilities, serverInfo, instructions });
}
