import type { Response } from "../../../../shared/http/response.ts";
import { isDict } from "../../interpreter/values.ts";
import { clip } from "../../language/messages.ts";
import { type Id, type Message, errorCodes, failure } from "../json-rpc.ts";

/** The revisions that begin with `initialize`, the newest first. */
export const legacyRevisions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;
/** The revision whose clients send no `initialize`. */
const modernRevision = "2026-07-28";
export const revisions: readonly string[] = [modernRevision, ...legacyRevisions];

export type Generation = "legacy" | "modern";
type Headers = Record<string, string | undefined>;

const mcpCodes = { headerMismatch: -32020, unsupportedRevision: -32022 } as const;
const badRequest = 400;

const prefix = "io.modelcontextprotocol/";
const versionKey = `${prefix}protocolVersion`;
const capabilitiesKey = `${prefix}clientCapabilities`;

/** Reads a header without its surrounding white space, which is not part of the value (RFC 9110 §5.5). */
const field = (headers: Headers, name: string): string | undefined => headers[name]?.trim();

const metaOf = ({ params }: Message): Record<string, unknown> => {
  const { _meta: meta } = params;
  return isDict(meta) ? meta : {};
};

const isLegacy = (revision: unknown): boolean => legacyRevisions.some((known) => known === revision);

/**
 * The generation of a message (MCP 2026-07-28, "Versioning"). It follows from the first of these parts that the message
 * has:
 * - a revision in `_meta`
 * - the method `initialize`
 * - the header `MCP-Protocol-Version`
 * - the method `server/discover`
 *
 * Any other message is of the legacy generation. The header `Mcp-Method` does not count, because clients of both
 * generations send it.
 */
export function protocolGeneration(message: Message, headers: Headers): Generation {
  const meta = metaOf(message);
  if (Object.hasOwn(meta, versionKey)) return isLegacy(meta[versionKey]) ? "legacy" : "modern";
  if (message.method === "initialize") return "legacy";
  const revision = field(headers, "mcp-protocol-version");
  if (revision !== undefined) return isLegacy(revision) ? "legacy" : "modern";
  return message.method === "server/discover" ? "modern" : "legacy";
}

/**
 * Refuses a message whose revision or headers are wrong. Returns undefined if both are valid. The headers must match
 * the body, because proxies may route or filter by headers (MCP 2026-07-28, "Server Validation").
 */
export function refuseByHeaders(message: Message, headers: Headers): Response | undefined {
  const { method } = message;
  const id = message.id ?? null;
  const claimed = metaOf(message)[versionKey];
  const sent = field(headers, "mcp-protocol-version");
  if (sent !== undefined && typeof claimed === "string" && sent !== claimed) {
    return mismatch(id, `MCP-Protocol-Version is ${clip(sent)}, _meta names ${clip(claimed)}`);
  }
  const asked = claimed ?? sent;
  if (method !== "initialize" && typeof asked === "string" && !revisions.includes(asked)) return unsupported(id, asked);
  if (message.id === undefined || protocolGeneration(message, headers) === "legacy") return undefined;
  return refuseEnvelope(message, id) ?? refuseFields(message, headers, id);
}

/** Requires `_meta` to name the revision and the client's capabilities. The client's identity is optional. */
function refuseEnvelope(message: Message, id: Id | null): Response | undefined {
  const meta = metaOf(message);
  const missing = [
    ...(typeof meta[versionKey] === "string" ? [] : [`${versionKey} (a string)`]),
    ...(isDict(meta[capabilitiesKey]) ? [] : [`${capabilitiesKey} (an object)`]),
  ];
  if (missing.length === 0) return undefined;
  return failure(id, errorCodes.invalidParams, `params._meta needs ${missing.join(" and ")}`, badRequest);
}

/** Requires the headers to repeat the revision, the method and the tool's name. */
function refuseFields({ method, params }: Message, headers: Headers, id: Id | null): Response | undefined {
  if (field(headers, "mcp-protocol-version") === undefined) return mismatch(id, "MCP-Protocol-Version is missing");
  const sentMethod = field(headers, "mcp-method");
  if (sentMethod === undefined) return mismatch(id, "Mcp-Method is missing");
  if (sentMethod !== method) return mismatch(id, `Mcp-Method is ${clip(sentMethod)}, the method is ${clip(method)}`);
  const { name } = params;
  if (method !== "tools/call" || typeof name !== "string") return undefined;
  const sentName = field(headers, "mcp-name");
  if (sentName === undefined) return mismatch(id, "Mcp-Name is missing");
  const read = decoded(sentName);
  if (read === undefined) return mismatch(id, "Mcp-Name is not valid base64 of UTF-8 between =?base64? and ?=");
  return read === name ? undefined : mismatch(id, `Mcp-Name is ${clip(read)}, params.name is ${clip(name)}`);
}

/**
 * Decodes a header value. A text that is not plain ASCII is sent as base64 of UTF-8. Undefined if the base64 is
 * malformed.
 */
function decoded(value: string): string | undefined {
  const base64 = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1];
  if (base64 === undefined) return value;
  const bytes = Buffer.from(base64, "base64");
  const text = bytes.toString("utf8");
  return bytes.toString("base64") === base64 && Buffer.from(text).equals(bytes) ? text : undefined;
}

const mismatch = (id: Id | null, why: string): Response =>
  failure(id, mcpCodes.headerMismatch, `The headers do not fit the body: ${why}`, badRequest);

const unsupported = (id: Id | null, requested: string): Response =>
  failure(id, mcpCodes.unsupportedRevision, `The MCP revisions here are ${revisions.join(", ")}`, badRequest, {
    supported: revisions,
    requested: clip(requested),
  });
