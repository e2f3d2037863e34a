import { expect, test } from "vitest";

import { catalogue } from "../../../functions/code/catalogue.ts";
import { parseProgram } from "../../../functions/code/interpreter/builtins.ts";
import { request } from "../../support/request.ts";

const path = "/.well-known/agent-card.json";

test("the agent card is public, and can be cached and asked for again by its entity tag", async () => {
  const { status, headers, body } = await request("GET", path);
  expect([status, headers["content-type"], headers["cache-control"]]).toEqual([
    200,
    "application/json",
    "public, max-age=300",
  ]);
  const again = await request("GET", path, { headers: { "if-none-match": headers["etag"] ?? "" } });
  expect([again.status, again.text, again.headers["etag"]]).toEqual([304, "", headers["etag"]]);
  expect(JSON.stringify(body)).not.toContain("{address}");
});

test("the agent card has the agent's URL, its protocol, and the kind of credential", async () => {
  const { body } = await request("GET", path);
  expect(body).toMatchObject({
    name: "Hosted Mail API",
    version: "1.0.0",
    supportedInterfaces: [
      {
        url: expect.stringMatching(/^https?:\/\/[^/]+\/v1\/public\/a2a$/),
        protocolBinding: "JSONRPC",
        protocolVersion: "1.0",
      },
    ],
    capabilities: { streaming: false, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ["application/json", "text/plain"],
    defaultOutputModes: ["application/json", "text/plain"],
  });
});

test("a host name from the headers of a request does not get into the agent card", async () => {
  const { status, text } = await request("GET", path, {
    headers: { "x-forwarded-host": "evil.example", forwarded: "host=evil.example" },
  });
  expect(status).toBe(200);
  expect(text).not.toContain("evil");
});

test("each function is in one skill, and each example of a skill is a program of one statement", async () => {
  type Skill = { id: string; name: string; description: string; tags: string[]; examples: string[] };
  const skills: Skill[] = (await request("GET", path)).body.skills;
  const named = skills.flatMap(({ description }) =>
    (description.split("Functions: ")[1] ?? "").slice(0, -1).split(", "),
  );
  expect(named.toSorted()).toEqual([...catalogue.keys()].toSorted());
  for (const { id, name, tags, examples } of skills) {
    expect([id, name, ...tags].filter((text) => text === "")).toEqual([]);
    for (const example of examples) expect(parseProgram(example).statements).toHaveLength(1);
  }
});
