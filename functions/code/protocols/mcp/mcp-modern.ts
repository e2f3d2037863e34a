import type { Response } from "../../../../shared/answer.ts";
import { result, type Call, type Id } from "../json-rpc.ts";
import { revisions } from "./mcp-era.ts";
import { capabilities, instructions, serverInfo } from "./mcp-server.ts";
import { tools } from "./tool.ts";

const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };

/** A result of revision 2026-07-28: that it is the whole one, and whose. */
export const complete = (id: Id, value: Record<string, unknown>): Response =>
  result(id, { resultType: "complete", ...value, _meta });

/** Everybody's answer is the same, until the next deployment. */
const cached = { ttlMs: 300_000, cacheScope: "public" };

/** What revision 2026-07-28 asks for, but for calls of tools. */
export const modernMethods: ReadonlyMap<string, (call: Call) => Response> = new Map([
  [
    "server/discover",
    ({ id }: Call) => complete(id, { supportedVersions: revisions, capabilities, instructions, ...cached }),
  ],
  ["tools/list", ({ id }: Call) => complete(id, { tools: tools(), ...cached })],
]);
