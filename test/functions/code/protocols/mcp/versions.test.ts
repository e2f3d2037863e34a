import * as fc from "fast-check";
import { expect, test } from "vitest";

import { protocolGeneration, refuseByHeaders } from "../../../../../functions/code/protocols/mcp/versions.ts";

const version = "io.modelcontextprotocol/protocolVersion";
const modern = "2026-07-28";
const messageOf = (method: string, claimed?: unknown) => ({
  method,
  params: claimed === undefined ? {} : { _meta: { [version]: claimed } },
  id: 1,
});

test.each([
  ["initialize", "initialize", undefined, undefined, "legacy"],
  ["initialize under the newest header", "initialize", undefined, modern, "legacy"],
  ["initialize that names the newest revision in _meta", "initialize", modern, modern, "modern"],
  ["no revision at all", "tools/list", undefined, undefined, "legacy"],
  ["a header with a revision that has initialize", "tools/list", undefined, "2025-11-25", "legacy"],
  ["the newest header", "tools/list", undefined, modern, "modern"],
  ["an unknown header", "tools/list", undefined, "2099-01-01", "modern"],
  ["the newest revision in _meta", "tools/list", modern, undefined, "modern"],
  ["an unknown revision in _meta", "tools/list", "2099-01-01", undefined, "modern"],
  ["a revision in _meta that is no text", "tools/list", 7, undefined, "modern"],
  ["a revision that has initialize in _meta", "tools/list", "2025-06-18", undefined, "legacy"],
  ["server/discover without a revision", "server/discover", undefined, undefined, "modern"],
])("recognises the generation of the protocol: %s", (_, method, claimed, header, era) => {
  const headers = header === undefined ? {} : { "mcp-protocol-version": header };
  expect(protocolGeneration(messageOf(method, claimed), headers)).toBe(era);
  expect(protocolGeneration(messageOf(method, claimed), { ...headers, "mcp-method": "anything" })).toBe(era);
});

test("with the header of the newest revision, a tool is called only if the headers name the tool and the method", () => {
  const oneOf = <T>(...values: T[]) => fc.constantFrom<T | undefined>(...values, undefined);
  const names = ["service_execute", "service_query"] as const;
  const sentName = fc.oneof(
    oneOf(...names),
    fc.constantFrom(...names).map((name) => `=?base64?${Buffer.from(name).toString("base64")}?=`),
  );
  const cases = fc.record({
    claimed: oneOf<unknown>(modern, "2025-11-25", "2099-01-01", 7),
    name: oneOf<unknown>(...names),
    sentMethod: oneOf("tools/call", "tools/list"),
    sentName,
  });
  fc.assert(
    fc.property(cases, ({ claimed, name, sentMethod, sentName }) => {
      const _meta = { [version]: claimed, "io.modelcontextprotocol/clientCapabilities": {} };
      const message = { id: 1, method: "tools/call", params: { name, _meta } };
      const headers = { "mcp-protocol-version": modern, "mcp-method": sentMethod, "mcp-name": sentName };
      const base64 = /^=\?base64\?(.*)\?=$/.exec(sentName ?? "")?.[1];
      const meant = base64 === undefined ? sentName : Buffer.from(base64, "base64").toString();
      const agrees = claimed === modern && sentMethod === "tools/call" && (name === undefined || meant === name);
      expect(refuseByHeaders(message, headers) === undefined).toBe(agrees);
    }),
  );
});
